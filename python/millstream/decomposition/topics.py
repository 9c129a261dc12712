"""Topics of documents."""

from __future__ import annotations

from typing import Any

from millstream._part import forwarded
from millstream.decomposition.base import Decomposition

__all__ = ["LDA"]


class LDA(Decomposition):
    """Latent Dirichlet allocation: topics of documents that are given as counts of words.

    Choose it to explore a stream of texts: a topic is a distribution over words, and an output is the fraction of
    a document that belongs to a topic. A document is a dict of counts, or a row of a matrix with a column for each
    word. New words may appear at any time, up to `max_words`. For an endless vocabulary, hash words with
    `feature_extraction.HashingVectorizer(alternate_sign=False, norm=None)`. A negative number is refused.

    The results are those of scikit-learn's `LatentDirichletAllocation.partial_fit` on a fixed vocabulary, from the
    same topics and with a constant first guess for each document, where scikit-learn draws one. A batch is a
    number of documents, whatever the calls in which they arrive: documents that wait for their batch are part of
    the state.

    Parameters
    ----------
    n_components
        Number of topics, and of output features.
    batch_size
        Number of documents per update.
    doc_topic_prior
        Dirichlet prior of the topics of a document, small if documents have few topics; None for 1 /
        `n_components`.
    topic_word_prior
        Dirichlet prior of the words of a topic, small if topics have few words; None for 1 / `n_components`.
    learning_decay
        Exponent by which the learning rate falls with the number of batches.
    learning_offset
        Number added to that of batches: larger values lower the weight of the first ones.
    total_samples
        Number of documents in the whole stream, or a guess of it.
    max_words
        Maximum size of the vocabulary; a document with more words is refused.
    seed
        Random seed of the first topics.

    Examples
    --------
    >>> from millstream import decomposition
    >>> sport, kitchen = [{"goal": 2, "match": 1}, {"goal": 1, "team": 2}], [{"oven": 2, "flour": 1}, {"oven": 1}]
    >>> lda = decomposition.LDA(n_components=2, batch_size=4)
    >>> lda.learn_many((sport + kitchen) * 50)
    0
    >>> sorted(lda.top_words(1))
    [['goal'], ['oven']]
    >>> a, b = (lda.transform_one({word: 3}) for word in ("goal", "oven"))
    >>> max(a, key=a.get) == max(b, key=b.get)
    False

    References
    ----------
    Hoffman, M., Blei, D. and Bach, F. (2010). Online learning for latent Dirichlet allocation.
    """

    name = "decomposition.LDA"
    aliases = {"random_state": "seed"}

    @forwarded
    def __init__(
        self,
        n_components: int = 10,
        batch_size: int = 100,
        doc_topic_prior: float | None = None,
        topic_word_prior: float | None = None,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        total_samples: float = 1e6,
        max_words: int = 100_000,
        seed: int = 1,
    ) -> None: ...

    def top_words(self, n: int = 10) -> list[list[str]]:
        """The most probable words of each topic, in this order. A nominal value is `feature=value`."""
        return [sorted(words, key=words.__getitem__, reverse=True)[:n] for words in map(_flat, self.components)]


def _flat(topic: dict[str, Any]) -> dict[str, float]:
    """The weight of each word; nominal values have a name of their own."""
    words: dict[str, float] = {}
    for word, weight in topic.items():
        if isinstance(weight, dict):
            words.update({f"{word}={value}": number for value, number in weight.items()})
        else:
            words[word] = weight
    return words
