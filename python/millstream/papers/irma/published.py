"""The published experiment: its settings, and the values of Table I."""

from __future__ import annotations

__all__ = [
    "CHOICES",
    "CITATION",
    "EXAMPLES",
    "MISTAKES",
    "NOISE",
    "ORDERS",
    "REGION",
    "TABLE",
    "WIDER_REGION",
]

CITATION = (
    "Buschermöhle, A., Schoenke, J., Rosemann, N. and Brockmann, W. (2013). The incremental risk functional: "
    "basics of a novel incremental learning approach. IEEE SMC."
)

#: Orders of the polynomials, and the numbers of examples after which they are evaluated.
ORDERS = (4, 6, 10)
EXAMPLES = (10, 80, 150)
#: The range of the inputs, and the largest distance of a target from the truth.
REGION = (0.0, 3.0)
NOISE = 0.05
#: A region that is 5 % wider at both ends: see the first of `CHOICES`.
WIDER_REGION = (-0.15, 3.15)

#: Table I: mean squared error to the truth and the number after ±, by examples, kind of learning and order.
TABLE: dict[tuple[int, str, int], tuple[float, float]] = {
    (10, "incremental", 4): (3.1e-3, 2.9e-5),
    (10, "incremental", 6): (5.5e-3, 6.0e-5),
    (10, "incremental", 10): (1.2e-2, 1.2e-4),
    (10, "batch", 4): (4.4e2, 1.9e8),
    (10, "batch", 6): (7.2e7, 5.1e18),
    (10, "batch", 10): (1.8e14, 1.3e31),
    (80, "incremental", 4): (3.0e-4, 1.2e-8),
    (80, "incremental", 6): (2.2e-4, 1.5e-8),
    (80, "incremental", 10): (3.1e-4, 2.3e-8),
    (80, "batch", 4): (2.0e-4, 5.3e-9),
    (80, "batch", 6): (1.0e-4, 1.2e-8),
    (80, "batch", 10): (4.0e-4, 5.3e-6),
    (150, "incremental", 4): (2.0e-4, 2.1e-9),
    (150, "incremental", 6): (9.4e-5, 3.0e-9),
    (150, "incremental", 10): (1.2e-4, 3.1e-9),
    (150, "batch", 4): (1.6e-4, 6.4e-10),
    (150, "batch", 6): (5.0e-5, 6.7e-10),
    (150, "batch", 10): (8.4e-5, 8.7e-9),
}

#: Choices for settings that the paper leaves open.
CHOICES = (
    "The region that the change of the function is integrated over: [0, 3], the range of the inputs. With a "
    "region that is wider by a twentieth at both ends, [-0.15, 3.15], all figures of the incremental rows "
    "come near the paper's.",
    "The inputs: independent and uniform in [0, 3]. The noise: uniform in [-0.05, 0.05].",
    "The stiffness at the first example: 0.1; it is multiplied with 1.05 after each.",
    "The 1,000 test points: evenly spaced, ends included.",
    "The basis for gradient descent and RLS: the powers of x, as in (14). For IRMA it makes no difference.",
    "The step of gradient descent: 1, normalised, so that each example is met exactly.",
    "How the Tikhonov term of 0.05 enters gradient descent and RLS, which is not said: it is left out. Five "
    "ways for the one and four for the other change the mean loss after 150 examples by less than a tenth; a "
    "fifth, the gradient of the term through the covariance, makes RLS diverge.",
    "The covariance of RLS: the identity before anything is learned, and forgetting 0.9, as said; its "
    "variances are held to a million times those of the beginning.",
    "The batch fit of order 10 to 10 examples, which leaves one parameter free: the smallest function through "
    "them.",
)

#: Probable errors in the paper, as far as these values show.
MISTAKES = (
    "The figures after ± in Table I are called standard deviations, and are of the size of variances.",
    "The means of the batch fit to 10 examples have no limit: a few sequences out of 1,000 make them, and "
    "another 1,000 give a mean that differs by orders of magnitude. Look at the medians.",
    "(10) and (11) lack the 1/2 of (4) and (6), and (11) has the wrong sign; (12) holds all the same.",
)
