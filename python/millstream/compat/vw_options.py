"""The options of Vowpal Wabbit's command line: which take a value, and what to use in place of those that
millstream does not have."""

from __future__ import annotations

import shlex

from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue

__all__ = ["INSTEAD", "SHORT", "parse"]

#: Short options.
SHORT = {
    "-d": "--data",
    "-b": "--bit_precision",
    "-l": "--learning_rate",
    "-q": "--quadratic",
    "-f": "--final_regressor",
    "-i": "--initial_regressor",
    "-p": "--predictions",
    "-r": "--raw_predictions",
    "-t": "--testonly",
    "-k": "--kill_cache",
    "-c": "--cache",
    "-P": "--progress",
    "-a": "--audit",
    "-C": "--constant",
    "-B": "--bootstrap",
}

#: Translated options with a value.
WITH_VALUE = {
    *("--data", "--bit_precision", "--learning_rate", "--power_t", "--quadratic", "--cubic", "--interactions"),
    *("--ngram", "--skips", "--ignore", "--keep", "--ignore_linear", "--loss_function", "--quantile_tau"),
    *("--expectile_q", "--l1", "--l2", "--ftrl_alpha", "--ftrl_beta", "--oaa", "--csoaa", "--wap", "--csoaa_ldf"),
    *(
        "--wap_ldf",
        "--passes",
        "--holdout_period",
        "--early_terminate",
        "--final_regressor",
        "--initial_regressor",
    ),
    *("--min_prediction", "--max_prediction", "--link", "--predictions", "--boosting", "--bootstrap"),
}

#: Translated options without a value.
FLAGS = {
    *("--sgd", "--adaptive", "--normalized", "--invariant", "--coin", "--ftrl", "--noconstant", "--holdout_off"),
    *("--testonly", "--probabilities", "--binary"),
}

#: Options with a value that need no counterpart, or have another one: what to know or to use.
_INSTEAD_WITH_VALUE = {
    "--cache_file": "not needed: millstream reads text faster than VW reads its cache",
    "--progress": "use evaluate.prequential(…, progress=True) and the curve of its result",
    "--random_seed": "the translated learners draw no random numbers",
    "--raw_predictions": "use model.score_many(chunk.X)",
    "--readable_model": "use model.weights",
    "--invert_hash": "use stream.hash_feature(name, namespace, bits=…) for the column of a feature",
    "--hash": "columns are those of --hash strings",
    "--hash_seed": "columns are those of --hash_seed 0",
    "--initial_t": "steps are counted from 1",
    "--decay_learning_rate": "the optimiser's rate falls with every step; passes do not change it",
    "--constant": "use intercept_init= of the model",
    "--affix": "write prefixes and suffixes as features",
    "--spelling": "write the spelling as features",
    "--redefine": "rename the namespaces in the file",
    "--dictionary": "write the dictionary's features into the file",
    "--nn": "use kernel.RandomFourierFeatures in front, interactions, or tree.HoeffdingTreeClassifier",
    "--lrq": "use interactions=, whose weights are exact",
    "--lrqfa": "use interactions=, whose weights are exact",
    "--rank": "use interactions= of the user's and the item's namespaces",
    "--lda": "use decomposition.LDA",
    "--ect": "use multiclass.OneVsRest, whose errors were half as many on ten classes",
    "--log_multi": "use multiclass.OneVsRest, whose errors were half as many on ten classes",
    "--plt": "use multiclass.OneVsRest",
    "--multilabel_oaa": "train one model for each label",
    "--mellowness": "active learning needs the labels at hand; there is no translation",
    "--cb": "there is no translation of contextual bandits: use cost_sensitive.CostRegression with costs",
    "--cb_explore": "there is no translation of contextual bandits: use cost_sensitive.CostRegression with costs",
    "--cb_type": "it belongs to contextual bandits",
    "--cb_min_cost": "it belongs to contextual bandits",
    "--cb_max_cost": "it belongs to contextual bandits",
    "--epsilon": "it belongs to contextual bandits",
    "--bag": "it belongs to contextual bandits",
    "--cover": "it belongs to contextual bandits",
    "--first": "it belongs to contextual bandits",
    "--lambda": "it belongs to contextual bandits",
    "--gamma_scale": "it belongs to contextual bandits",
    "--gamma_exponent": "it belongs to contextual bandits",
    "--ksvm": "use kernel.KernelSGD, which has a budget",
    "--stage_poly": "use interactions=",
    "--port": "use `millstream serve` or read_vw(path, follow=True)",
    "--num_children": "use `millstream serve`",
    "--memory_tree": "use neighbors.KNNClassifier",
    "--search": "there is no learning to search",
    "--examples": "use itertools.islice, or head of the command line",
    "--mem": "L-BFGS is a batch method: use scikit-learn",
    "--termination": "L-BFGS is a batch method: use scikit-learn",
}

#: The same for options without a value.
_INSTEAD_FLAGS = {
    "--quiet": "nothing is printed",
    "--kill_cache": "there is no cache file",
    "--cache": "there is no cache file",
    "--compressed": "files compressed with gzip or zstd are recognised",
    "--save_resume": "models are always saved so that they continue exactly",
    "--preserve_performance_counters": "models are always saved so that they continue exactly",
    "--audit": "use model.weights",
    "--no_stdin": "nothing is read from standard input unless the path is '-'",
    "--leave_duplicate_interactions": "a product of the same namespaces is formed once",
    "--permutations": "a namespace multiplied by itself has each pair of its features once",
    "--bfgs": "L-BFGS is a batch method: use scikit-learn, and compat.from_sklearn",
    "--conjugate_gradient": "it is a batch method: use scikit-learn, and compat.from_sklearn",
    "--pistol": "use optim.CoinBetting, which has no learning rate either",
    "--svrg": "use several passes of optim.Adaptive",
    "--autolink": "use interactions=",
    "--inpass": "it belongs to --nn",
    "--dropout": "it belongs to --nn",
    "--active": "there is no translation of active learning",
    "--cb_adf": "there is no translation of contextual bandits: use "
    "cost_sensitive.CostRegression(…, by_class=True)",
    "--cb_explore_adf": "there is no translation of contextual bandits: use "
    "cost_sensitive.CostRegression(…, by_class=True)",
    "--squarecb": "it belongs to contextual bandits",
    "--regcb": "it belongs to contextual bandits",
    "--regcbopt": "it belongs to contextual bandits",
    "--softmax": "it belongs to contextual bandits",
    "--rnd": "it belongs to contextual bandits",
    "--greedify": "it belongs to contextual bandits",
    "--nounif": "it belongs to contextual bandits",
    "--ccb_explore_adf": "there are no decisions with several slots",
    "--slates": "there are no slates",
    "--json": "use stream.read_json_lines",
    "--dsjson": "there is no reader of decision logs",
    "--daemon": "use `millstream serve` or read_vw(path, follow=True)",
    "--noop": "read the stream without a model",
    "--onethread": "millstream parses in threads of its own",
    "--lda_d": "use decomposition.LDA",
}

INSTEAD = {**_INSTEAD_WITH_VALUE, **_INSTEAD_FLAGS}


def parse(line: str) -> list[tuple[str, str]]:
    """The options of a line in their order, each with its long name and its value, `""` for a flag."""
    if not isinstance(line, str):
        raise InvalidType(f"compat.from_vw: line must be a string such as '-q ab --coin', got {quoted(line)}")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InvalidValue(f"compat.from_vw: line must have closed quotes, got {quoted(line)}") from error
    if words[:1] == ["vw"]:
        words.pop(0)
    found, place = [], 0
    while place < len(words):
        option, given = _split(words[place])
        place += 1
        if option is None:
            # A word alone is the data file.
            found.append(("--data", words[place - 1]))
        elif option in WITH_VALUE or option in _INSTEAD_WITH_VALUE:
            if given is None:
                if place == len(words):
                    raise InvalidValue(f"compat.from_vw: {option} must have a value, got none")
                given = words[place]
                place += 1
            found.append((option, given))
        elif given is None and (option in FLAGS or option in _INSTEAD_FLAGS):
            found.append((option, ""))
        else:
            raise InvalidValue(f"compat.from_vw: line must have options of VW, got {quoted(words[place - 1])}")
    return found


def _split(word: str) -> tuple[str | None, str | None]:
    """The long name of an option and the value that is joined to it."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    if word[:2] in SHORT and word != "-":
        return SHORT[word[:2]], word[2:] or None
    return (word, None) if word.startswith("-") and word != "-" else (None, None)
