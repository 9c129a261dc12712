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
    *(
        "--cb",
        "--cb_explore",
        "--cb_type",
        "--cb_min_cost",
        "--cb_max_cost",
        "--epsilon",
        "--bag",
        "--cover",
        "--psi",
    ),
    *("--first", "--rnd", "--lambda", "--gamma_scale", "--gamma_exponent", "--mellowness", "--cbify"),
    *("--cats", "--bandwidth", "--min_value", "--max_value", "--log_multi", "--recall_tree", "--ect"),
}

#: Translated options without a value.
FLAGS = {
    *("--sgd", "--adaptive", "--normalized", "--invariant", "--coin", "--ftrl", "--noconstant", "--holdout_off"),
    *(
        "--testonly",
        "--probabilities",
        "--binary",
        "--cb_adf",
        "--cb_explore_adf",
        "--ccb_explore_adf",
        "--dsjson",
    ),
    *("--squarecb", "--regcb", "--regcbopt", "--softmax", "--greedify", "--nounif", "--synthcover", "--active"),
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
    "--plt": "train one model for each label, or multiclass.LabelTree if each example has one label",
    "--autolink": "use interactions=",
    "--classweight": "use multiclass.ClassWeights around the model",
    "--cs_active": "use active.ImportanceWeighted",
    "--multilabel_oaa": "train one model for each label",
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
    "--ksvm": "use kernel.KernelSGD, which has a budget",
    "--stage_poly": "use interactions=",
    "--active_cover": "use active.ImportanceWeighted",
    "--elim": "bandit.explore.SquareCB keeps all actions",
    "--large_action_space": "bandit.Contextual computes the products of an action feature once for all actions",
    "--inpass": "it belongs to --nn",
    "--dropout": "it belongs to --nn",
    "--slates": "there are no slates",
    "--json": "use stream.read_json_lines",
    "--daemon": "use `millstream serve` or read_vw(path, follow=True)",
    "--noop": "read the stream without a model",
}

#: All other options of VW, with a value and without.
_OTHERS_WITH_VALUE = """
action_cache_slack alg alpha alpha_inverse audit_regressor automl automl_significance_level batch_sz bern_hyper
beta_scale block_size bonferroni_denominator bs_type cats_pdf cats_tree cb_c_alpha cb_c_tau cb_dro_alpha
cb_dro_tau cb_dro_wmax cb_to_cbadf choices_lambda clip_p corrupt_prob_warm_start corrupt_type_warm_start
cost_max cost_min csv_header csv_ns_value csv_separator decay default_lease degree dictionary_path domination
dream_at_update dream_repeats driver_output dump_json_weights_experimental emt_initial emt_leaf emt_router
emt_scorer emt_tree epoch_size epsilon_decay_audit epsilon_decay_significance_level error example_queue_limit
experimental_full_name_interactions extra_metrics feature_limit feature_mask fepsilon flipschitz_const gamma
holdout_after id ignore_features_dsjson_experimental indexing initial_denominator initial_epsilon
initial_numerator initial_pass_length initial_weight input_feature_regularizer interact interaction
interaction_type kary_tree kernel l1_state l2_state lambda_scheme lda_D lda_alpha lda_epsilon lda_rho
ldf_override leaf_example_multiplier learn learning_rate_cnt limit_output log_level log_output logistic_max
logistic_min loss0 loss1 loss_01_ratio loss_option loss_report lr_multiplier marginal max_actions max_candidates
max_depth max_labels max_number_of_labels min_champ_examples min_labels min_scope minibatch model_count
multiplier multiworld_test named_labels new_mf node normalize oaa_subsample opt_func oracle_type ot
output_feature_regularizer_binary output_feature_regularizer_text overwrite_label pid_file pmf_to_pdf policy
pool_size port_file priority_challengers priority_type radius random_init range_c replay_b replay_b_count
replay_c replay_c_count replay_m replay_m_count reprocess ring_size rnd_alpha rnd_invlambda sched_exponent
search_active_verify search_allowed_transitions search_alpha search_beta search_history_length
search_interpolation search_metatask search_neighbor_features search_passes_per_policy search_perturb_oracle
search_rollin search_rollout search_rollout_num_steps search_save_every_k_runs search_subsample_time search_task
search_total_nb_policies search_trained_nb_policies sendto shift_model_bounds sketch_size span_server
span_server_port spanner_c sparse_l2 stage_size subsample swap_resistance synthcoverpsi synthcoversize
target_rate thread_pool_size threshold tol_x top top_K top_k total tree_bandwidth unique_id warm_cb warm_start
"""
_OTHER_FLAGS = """
OjaNewton adax all_slots_loss baseline baseline_challenger_cb batch_sz_no_doubling cb_discrete cb_dro
cb_explore_pdf cb_force_legacy cb_sample cbify_cs cbify_ldf cbify_reg cbzo ccb_no_slot_index chain_hash
challenger_epsilon check_enabled compete confidence confidence_after_training constant_epsilon cs_absolute_loss
csa_debug csoaa_rank csv csv_no_file_header csv_trace debug_reversed_learn direct dont_output_best_constant
driver_output_off dry_run dump_json_weights_include_extra_online_state_experimental
dump_json_weights_include_feature_names_experimental emt epsilon_decay eval exclude_eval experimental_igl
explore_eval first_only fixed_significance_level flatbuffer flip_loss_sign foreground freegrad get_pmf
global_only graph_feedback help hessian_on hexfloat_weights interaction_update las_hint_explicit_simd
learn_at_leaf lrqdropout math meanfield metrics multitask no_bias_regularization no_daemon no_predict
no_progress node_only normal_weights oas online oracular para_active per_model_save_load
plt_force_load_legacy_model pool_greedy predict_only_model print project random_weights randomized_routing
rank_all restart reward_as_cost sample_pdf save_per_pass scores search_linear_ordering search_no_caching
search_xv sim_bandit simulation sort_features sparse_weights strict_parse truncated_normal_weights two_pass_svd
unweighted_marginals update_before_learn verbose_metrics version warm_cb_cs warm_start_update
"""
_NOTHING = "millstream has no counterpart"
_INSTEAD_WITH_VALUE |= {f"--{name}": _NOTHING for name in _OTHERS_WITH_VALUE.split()}
_INSTEAD_FLAGS |= {f"--{name}": _NOTHING for name in _OTHER_FLAGS.split()}

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
