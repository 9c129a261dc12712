"""Topics of a stream of headlines, in which a new subject with new words appears halfway.

The lesson: a vocabulary that is fixed at the start cannot describe what comes later. A model that may add words
finds the new subject and makes room for it, and nothing has to be restarted.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from millstream import decomposition

SUBJECTS = {
    "football": ["goal", "match", "team", "coach", "season", "striker", "league", "defeat"],
    "kitchen": ["oven", "flour", "butter", "recipe", "salt", "onion", "dinner", "sauce"],
    "markets": ["shares", "bank", "profit", "rates", "inflation", "investors", "bonds", "dollar"],
    "comet": ["comet", "telescope", "tail", "orbit", "astronomers", "sky", "ice", "meteor"],
}
COMMON = ["new", "says", "after", "first", "more", "today", "people", "year"]


def headlines(rows: int, seed: int = 3) -> Iterator[tuple[str, dict[str, float]]]:
    """The subject of each headline, which no model receives, and its counts of words."""
    random = np.random.default_rng(seed)
    subjects = list(SUBJECTS)
    for row in range(rows):
        # The comet is discovered halfway, and then every second headline is about it.
        comet = row >= rows // 2 and random.random() < 0.5
        subject = "comet" if comet else subjects[random.integers(3)]
        words = [*random.choice(SUBJECTS[subject], 6), *random.choice(COMMON, 2)]
        yield subject, {str(word): float(words.count(word)) for word in words}


def main() -> None:
    """Learn with a growing and with a fixed vocabulary, and compare what both say about the comet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="number of headlines")
    given = parser.parse_args()

    stream = list(headlines(given.rows))
    half = given.rows // 2
    known = {word for _, counts in stream[:half] for word in counts}
    growing = decomposition.LDA(n_components=4, batch_size=50, doc_topic_prior=0.1, topic_word_prior=0.1)
    fixed = growing.clone()
    for row, (_, counts) in enumerate(stream):
        if row in (half, given.rows - 1):
            print(f"After {row + (row > half):,} headlines, {len(growing.features)} words:")
            for topic, words in enumerate(growing.top_words(5)):
                print(f"  topic {topic}: {', '.join(words)}")
        growing.learn_one(counts)
        fixed.learn_one({word: count for word, count in counts.items() if word in known})

    print("\nMean fraction of the strongest topic in the last headlines about each subject:")
    print(f"{'subject':>12}{'words may be added':>22}{'words of the first half':>26}")
    for subject in SUBJECTS:
        rows = [counts for name, counts in stream[-2000:] if name == subject]
        means = [np.mean([max(model.transform_one(x).values()) for x in rows]) for model in (growing, fixed)]
        print(f"{subject:>12}{means[0]:>22.2f}{means[1]:>26.2f}")
    print("\nWith a fixed vocabulary, a headline about the comet is two common words and six unknown ones.")


if __name__ == "__main__":
    main()
