"""Networks, losses and the world of deep agents on small numbers, against NumPy and the plain step."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra deep is not installed")

import jax
import jax.numpy as jnp

import monmdp
from monmdp.deep import codes, ensemble, heads, novelty, reach, rewards, values, world
from monmdp.deep.networks import fixed_layers, network, new_layers
from monmdp.deep.observations import Observations, inputs_of, picture_numbers
from monmdp.deep.policy import Policy
from monmdp.deep.state import Plan, for_unit_vectors, joined
from monmdp.protocol import paper_job
from monmdp.simulation import Simulation
from monmdp.world import compact

pytestmark = pytest.mark.usefixtures("double_precision")

#: Compiled as a whole, which takes less time than one operation after the other.
network = jax.jit(network)
q_targets, q_loss, modelled_rewards = (
    jax.jit(values.q_targets),
    jax.jit(values.q_loss),
    jax.jit(rewards.modelled_rewards),
)
members, members_loss = jax.jit(ensemble.members, static_argnums=5), jax.jit(ensemble.members_loss)
errors, masks_of = jax.jit(novelty.errors, static_argnums=4), jax.jit(ensemble.masks, static_argnums=3)
fixed_layers = jax.jit(fixed_layers, static_argnums=(1, 2, 3))
BINS = np.array([-2.0, 0.0, 1.0, 3.0])
N_ACTIONS, N_GOALS, N_INPUTS, N_MEMBERS, N_FEATURES = 3, 5, 4, 2, 3
ALL = jnp.ones(N_ACTIONS, bool)
reach_logits = jax.jit(reach.reach_logits)


def layers_of(outputs, seed=0):
    """Random layers in double precision as plain arrays."""
    random = np.random.default_rng(seed)
    shapes = jax.eval_shape(lambda: new_layers(jax.random.key(seed), N_INPUTS, (6, 5), outputs))
    return jax.tree.map(lambda array: random.normal(size=array.shape), shapes)


def forward(layers, x):
    """The network in NumPy."""
    for layer in layers[:-1]:
        z = x @ layer["weights"] + layer["bias"]
        z = (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + 1e-5)
        x = np.maximum(layer["gain"] * z + layer["shift"], 0.0)
    return x @ layers[-1]["weights"] + layers[-1]["bias"]


def softmax(z):
    """Probabilities of logits."""
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def values_of(layers, x):
    """Action values in NumPy."""
    return softmax(forward(layers, x).reshape(len(x), -1, len(BINS))) @ BINS


@pytest.fixture
def batch():
    random = np.random.default_rng(7)
    return random.normal(size=(6, N_INPUTS)), random.normal(size=(6, N_INPUTS)), np.array([0, 2, 1, 1, 0, 2])


def cross_entropy(logits, target):
    """By the definition of two-hot, one number at a time."""
    upper = min(max(int(np.searchsorted(BINS, target)), 1), len(BINS) - 1)
    share = np.clip((target - BINS[upper - 1]) / (BINS[upper] - BINS[upper - 1]), 0.0, 1.0)
    logs = np.log(softmax(logits))
    return -(1.0 - share) * logs[upper - 1] - share * logs[upper]


def test_network_is_that_of_the_equation(batch):
    layers = layers_of(7)
    np.testing.assert_allclose(network(layers, batch[0]), forward(layers, batch[0]), rtol=1e-9)


@pytest.mark.parametrize(
    ("x", "expected"),
    [(2.0, [0, 0, 0.5, 0.5]), (-2.0, [1, 0, 0, 0]), (-0.5, [0.25, 0.75, 0, 0]), (9.0, [0, 0, 0, 1])],
)  # fmt: skip
def test_two_hot(x, expected):
    np.testing.assert_allclose(heads.two_hot(jnp.array(x), jnp.array(BINS)), expected, atol=1e-12)


def test_bins_are_even_in_symlog_and_contain_their_range():
    bins = heads.new_bins(-100.0, 3.0, 21).astype(float)
    assert bins[0] < -100.0
    assert bins[-1] > 3.0
    gaps = np.diff(np.sign(bins) * np.log1p(np.abs(bins)))
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-4)
    first = heads.value(heads.near_zero(jnp.array(bins)), jnp.array(bins))
    assert abs(first) < 0.01 * 103.0
    for low, high in ((0.0, 1.0), (-20.0, 1.0)):  # 0.02 apart or less, if their number is not given
        gaps = np.diff(np.sign(bins := heads.new_bins(low, high, None)) * np.log1p(np.abs(bins)))
        assert 0.019 < gaps.min() <= gaps.max() < 0.0201
    assert len(heads.new_bins(-1000.0, 1.0, None)) == 256


def test_q_targets_and_loss(batch):
    x, ahead, actions = batch
    layers, slow = layers_of(N_ACTIONS * len(BINS), 1), layers_of(N_ACTIONS * len(BINS), 2)
    rewards, discounts = np.array([0.0, 1.0, -0.5, 2.0, 0.3, 0.0]), np.array([0.9, 0.0, 0.9, 0.9, 0.0, 0.9])
    best = values_of(layers, ahead).argmax(1)
    expected = rewards + discounts * values_of(slow, ahead)[np.arange(6), best]
    targets = q_targets(layers, slow, rewards, ahead, discounts, ALL, jnp.array(BINS))
    np.testing.assert_allclose(targets, expected, rtol=1e-7)
    weights, logits = np.array([1.0, 0, 1, 1, 0, 1]), forward(layers, x).reshape(6, N_ACTIONS, -1)
    losses = [cross_entropy(logits[i, a], expected[i]) for i, a in enumerate(actions)]
    loss = q_loss(layers, x, actions, targets, weights, jnp.array(BINS))
    np.testing.assert_allclose(loss, np.average(losses, weights=weights), rtol=1e-7)
    assert q_loss(layers, x, actions, targets, 0.0 * weights, jnp.array(BINS)) == 0.0


def test_steps_teach_the_way_to_what_came_later():
    """Two steps and two goals that came later, the second of which is not sure once; a larger target stays."""
    targets = jnp.array([[0.1, 0.6, 1.0], [0.2, 0.3, 0.0]])
    following, sure = jnp.array([[0, 1], [2, 2]]), jnp.array([[True, False], [True, True]])
    expected = [[0.5, 0.6, 1.0], [0.2, 0.3, 0.5]]
    np.testing.assert_allclose(reach.with_later(targets, following, sure, 0.5), expected, rtol=1e-6)
    np.testing.assert_allclose(reach.with_later(targets, following[:, ::-1], sure, 0.5)[0], [0.1, 0.6, 1.0], rtol=1e-6)


def test_rewards_that_were_never_observed_have_the_lower_bound(batch):
    x, _, actions = batch
    layers, seen = layers_of(N_ACTIONS * len(BINS), 3), np.array([True, False, True, False, True, True])
    model = modelled_rewards(layers, x, actions, seen, jnp.array(-10.0), jnp.array(BINS))
    expected = np.where(seen, values_of(layers, x)[np.arange(6), actions], -10.0)
    np.testing.assert_allclose(model, expected, rtol=1e-7)


def test_reach_targets_and_loss(batch):
    x, ahead, actions = batch
    layers, slow = layers_of(N_ACTIONS * N_GOALS, 4), layers_of(N_ACTIONS * N_GOALS, 5)
    next_goals, ended = np.array([0, 1, 4, 2, 3, 0]), np.array([False, True, False, False, True, False])
    expected = np.zeros((6, N_GOALS))
    for i in range(6):
        for g in range(N_GOALS):
            chances = 1.0 / (1.0 + np.exp(-forward(slow, ahead[i : i + 1])[0].reshape(N_ACTIONS, N_GOALS)[:, g]))
            expected[i, g] = 1.0 if next_goals[i] == g else 0.0 if ended[i] else 0.95 * chances.max()
    logits = reach_logits(slow, ahead, ALL)
    targets = reach.reach_targets(logits, jnp.array(next_goals), jnp.array(ended), 0.95)
    np.testing.assert_allclose(targets, expected, rtol=1e-7)
    some = reach_logits(slow, ahead, jnp.array([True, True, False]))
    assert np.all(some[:, 2] == -np.inf)
    assert np.all(some[:, :2] == logits[:, :2])
    visited = np.array([True, True, False, True, False])
    p = 1.0 / (1.0 + np.exp(-forward(layers, x).reshape(6, N_ACTIONS, N_GOALS)[np.arange(6), actions]))
    entropy = -expected * np.log(p) - (1.0 - expected) * np.log(1.0 - p)
    now = reach_logits(layers, x, ALL)[jnp.arange(6), actions]
    np.testing.assert_allclose(
        reach.reach_loss(now, targets, jnp.array(visited)), entropy[:, visited].mean(), rtol=1e-7
    )
    used = np.random.default_rng(4).random((6, N_GOALS)) < 0.5
    np.testing.assert_allclose(reach.reach_loss(now, targets, jnp.array(used)), entropy[used].mean(), rtol=1e-7)
    assert reach.reach_loss(now, targets, jnp.zeros(N_GOALS, bool)) == 0.0


def test_members_of_an_ensemble_and_their_loss(batch):
    x, ahead, actions = batch
    n_values = N_MEMBERS * N_ACTIONS
    layers, slow, prior = layers_of(n_values * len(BINS), 1), layers_of(n_values * len(BINS), 2), layers_of(n_values, 3)

    def estimates(layers, x):
        """F_k = value + 0.5 p_k, one member after the other."""
        logits = forward(layers, x).reshape(6, N_MEMBERS, N_ACTIONS, len(BINS))
        added = forward(prior, x).reshape(6, N_MEMBERS, N_ACTIONS)
        return np.stack([softmax(logits[:, k]) @ BINS + 0.5 * added[:, k] for k in range(N_MEMBERS)], 1)

    for network in (layers, slow):
        found = members(network, prior, 0.5, x, jnp.array(BINS), N_MEMBERS)
        np.testing.assert_allclose(found, estimates(network, x), rtol=1e-7)
    rewards, discounts = np.array([0.0, 1.0, -0.5, 2.0, 0.3, 0.0]), np.array([0.9, 0.0, 0.9, 0.9, 0.0, 0.9])
    q, slow_q, expected = estimates(layers, ahead), estimates(slow, ahead), np.zeros((6, N_MEMBERS))
    for i in range(6):
        for k in range(N_MEMBERS):
            expected[i, k] = rewards[i] + discounts[i] * slow_q[i, k, q[i, k].argmax()]
    targets = values.double_targets(jnp.array(q), slow_q, rewards[:, None], discounts[:, None], ALL)
    np.testing.assert_allclose(targets, expected, rtol=1e-7)

    masks = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 1], [0, 1]])
    logits = forward(layers, x).reshape(6, N_MEMBERS, N_ACTIONS, len(BINS))
    added = forward(prior, x).reshape(6, N_MEMBERS, N_ACTIONS)
    losses = [
        cross_entropy(logits[i, k, actions[i]], expected[i, k] - 0.5 * added[i, k, actions[i]])
        for i, k in zip(*np.nonzero(masks), strict=True)
    ]
    loss = members_loss(layers, prior, 0.5, x, actions, expected, masks, jnp.array(BINS))
    np.testing.assert_allclose(loss, np.mean(losses), rtol=1e-7)
    merged = ensemble.mean_prior(prior, 0.5, N_MEMBERS)
    np.testing.assert_allclose(forward(merged, x), 0.5 * added.mean(1), rtol=1e-7)


def test_the_k_smallest_estimates():
    estimates = jnp.array([[3.0, -1.0], [1.0, 5.0], [2.0, 0.0], [9.0, 4.0]])
    for k, expected in {1: [1.0, -1.0], 2: [1.5, -0.5], 4: [3.75, 2.0]}.items():
        np.testing.assert_allclose(ensemble.smallest(estimates, k), expected)


def test_masks_belong_to_steps_and_heads():
    key, steps = jax.random.key(3), jnp.arange(500)
    masks = np.asarray(masks_of(key, steps, 0.3, 8))
    order = np.random.default_rng(0).integers(500, size=500)
    assert np.array_equal(masks[order], masks_of(key, jnp.array(order), 0.3, 8))
    assert not np.array_equal(masks, masks_of(jax.random.key(4), steps, 0.3, 8))
    assert set(masks.ravel()) == {0.0, 1.0}
    np.testing.assert_allclose(masks.mean(0), 0.3, atol=0.08)
    assert np.abs(np.corrcoef(masks.T) - np.eye(8)).max() < 0.15


def test_a_random_network_has_outputs_of_variance_one():
    x = np.random.default_rng(0).normal(size=(200, 30))
    outputs = network(fixed_layers(jax.random.key(0), 30, (64, 64), 50), x)
    assert float(outputs.var()) == pytest.approx(1.0, abs=0.25)


def test_novelty_is_the_error_of_the_predictor(batch):
    x, _, actions = batch
    predictor, fixed = (layers_of(N_ACTIONS * N_FEATURES, seed) for seed in (4, 5))
    difference = (forward(predictor, x) - forward(fixed, x)).reshape(6, N_ACTIONS, N_FEATURES)
    expected = (difference[np.arange(6), actions] ** 2).mean(1)
    found = errors(predictor, fixed, x, actions, N_FEATURES)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    batches, moments = [0.3 * expected, expected, 0.1 * expected], jnp.zeros(3)
    for each in batches:
        moments = novelty.updated(moments, each)
    bonuses = novelty.bonuses(found, moments, 0.2)
    np.testing.assert_allclose(bonuses, 0.2 * np.minimum(expected / np.std(batches), 1.0), rtol=1e-7)
    assert bonuses.max() == 0.2
    assert np.all(np.isfinite(novelty.bonuses(found, novelty.updated(jnp.zeros(3), jnp.ones(6)), 0.2)))


def test_gradients_agree_with_finite_differences(batch):
    x, _, actions = batch
    targets, bins = np.array([0.1, 2.0, -1.0, 0.9, 0.3, 2.5]), jnp.array(BINS)
    goal_targets, n_values = np.random.default_rng(8).uniform(size=(6, N_GOALS)), N_MEMBERS * N_ACTIONS
    prior = layers_of(n_values, 3)

    def reach_of_actions(layers):
        logits = reach_logits(layers, x, ALL)[jnp.arange(6), actions]
        return reach.reach_loss(logits, goal_targets, jnp.ones(N_GOALS, bool))

    cases = {
        "q": (N_ACTIONS * len(BINS), lambda w: q_loss(w, x, actions, targets, np.ones(6), bins)),
        "reward": (N_ACTIONS * len(BINS), lambda w: rewards.reward_loss(w, x, actions, targets, np.ones(6), bins)),
        "reach": (N_ACTIONS * N_GOALS, reach_of_actions),
        "members": (
            n_values * len(BINS),
            lambda w: members_loss(
                w, prior, 0.5, x, actions, goal_targets[:, :N_MEMBERS], np.ones((6, N_MEMBERS)), bins
            ),
        ),
        "novelty": (n_values, lambda w: errors(w, prior, x, actions, N_MEMBERS).mean()),
    }
    layers = {name: layers_of(outputs, 6) for name, (outputs, _) in cases.items()}
    direction = jax.tree.map(lambda array: np.random.default_rng(9).normal(size=array.shape), layers)
    losses = jax.jit(lambda w: {name: loss(w[name]) for name, (_, loss) in cases.items()})  # all in one program
    gradients = jax.device_get(jax.jit(jax.grad(lambda w: sum(losses(w).values())))(layers))
    above, below = (losses(jax.tree.map(lambda w, d, h=h: w + h * d, layers, direction)) for h in (1e-5, -1e-5))
    for name in cases:
        slope = sum(jax.tree.leaves(jax.tree.map(lambda g, d: (g * d).sum(), gradients[name], direction[name])))
        assert (above[name] - below[name]) / 2e-5 == pytest.approx(slope, rel=1e-4), name


def adam(x, y, w, rates):
    """Weights of y = x w after fifty of Adam's steps on the squared error, in NumPy."""
    mean, square = 0.0 * w, 0.0 * w
    for t in range(1, 51):
        gradient = x.T @ (x @ w - y)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        w = w - 0.001 * rates[:, None] * mean / (1 - 0.9**t) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
    return w


@pytest.mark.parametrize("monitor", ["Ask", "Level"])
def test_one_weight_learns_what_those_of_numbers_that_change_together_would(monitor):
    job = paper_job(monmdp.make("Loop", monitor), "DeepDirected", 100)
    table, n_monitors, inputs = np.asarray(job.view.table, float), job.plan.n_monitor_states, job.inputs
    assert (table.shape[1], job.numbers.observations.shape[1]) == (675, 9)
    np.testing.assert_allclose(inputs.first + inputs.share * inputs.table[:, inputs.group], table, atol=1e-6)
    random = np.random.default_rng(0)
    monitors, y = random.integers(n_monitors, size=9), random.normal(size=(9, 4))
    learned = []
    for numbers, rates in ((table, np.ones(675 + n_monitors)), (job.numbers.observations, job.numbers.rates)):
        spread = np.sqrt(((numbers - numbers.mean(0)) ** 2).mean())
        scaled = (numbers - numbers.mean(0)) / spread
        x = np.asarray(joined(job.plan, jnp.array(scaled), jnp.array(monitors)), float)
        learned.append(x @ adam(x, y, np.zeros((x.shape[1], 4)), rates))
    assert np.abs(learned[0]).max() > 0.1
    np.testing.assert_allclose(*learned, rtol=1e-4, atol=1e-5)


def test_inputs_of_all_kinds_of_observations():
    """Distances stay as they are; numbers that never change are left out, and noisy ones are never merged."""
    table = np.float32([[1.0, 2.0, 0.5, 3.0, 7.0], [2.0, 4.0, 0.5, 3.0, 7.0], [4.0, 8.0, 0.5, 2.0, 7.0]])
    merged = inputs_of(Observations(table, 0.0, (5,)))
    assert merged.group.tolist() == [0, 0, 0, 1, 0]
    np.testing.assert_allclose(merged.share, [5**-0.5, 4 / 20**0.5, 0, -1, 0], atol=1e-6)
    np.testing.assert_allclose(np.abs(merged.table), [[0, 0], [5**0.5, 0], [3 * 5**0.5, 1]], atol=1e-6)
    np.testing.assert_allclose(merged.rates, [3 / 5**0.5, 1], rtol=1e-6)
    same = inputs_of(Observations(np.ones((4, 3), np.float32), 0.0, (3,)))
    assert same.table.shape == (4, 1)
    assert not same.table.any()
    assert not same.share.any()
    noisy = inputs_of(Observations(table, 0.1, (5,)))
    np.testing.assert_array_equal(noisy.table, table)
    np.testing.assert_array_equal(noisy.first + noisy.share * noisy.table[:, noisy.group], table)


def test_codes_of_exact_and_of_noisy_pictures():
    random, table, encode = np.random.default_rng(3), np.eye(3, 50), jax.jit(codes.encode)
    for noise, room in ((0.0, 3), (0.05, 6)):
        found, memory = [], codes.new_codes(room, 50)
        for state in [0, 1, 0, 2, 1, 1, 2, 0] * 10:
            seen = table[state] + noise * random.normal(size=50)
            code, memory = encode(memory, seen, codes.radius(noise, 50))
            found.append((state, int(code)))
        assert len(set(found)) == 3
        np.testing.assert_allclose(memory.prototypes[:3], table, atol=5 * noise / np.sqrt(20) + 1e-9)
    assert int(encode(codes.Codes(table, np.ones(3, int)), 2.0 * table[1], 0.0)[0]) == 1  # no room: the nearest
    mean, factor = codes.scale(memory._replace(prototypes=jnp.array([*table, *np.full((3, 50), 9.0)])))
    np.testing.assert_allclose(mean, table.mean(0))
    assert float(factor) == pytest.approx((table.var(0).mean() + codes.SMALLEST) ** -0.5)


def test_codes_of_a_table_of_pictures_are_those_of_prototypes():
    random = np.random.default_rng(5)
    table = random.normal(size=(6, 50))[[0, 1, 2, 1, 3, 4]]
    numbers, encode, exact = picture_numbers(table), jax.jit(codes.encode), jax.jit(codes.encode_exact)
    assert numbers.tolist() == [0, 1, 2, 1, 3, 4]
    memory, other = codes.new_codes(6, 50), codes.new_exact_codes(6, 50)
    for state in [4, 4, 0, 3, 1, 5, 0, 2, 3]:
        code, memory = encode(memory, table[state], 0.0)
        same, other = exact(other, table[state], numbers[state])
        assert int(code) == int(same)
        for one, two in zip(codes.scale(memory), codes.scale(other), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-9)


def test_the_policy_of_a_network_has_its_action_values():
    layers, mean, n = layers_of(N_ACTIONS * len(BINS)), np.array([0.3, -0.2]), 6
    pictures, states = np.random.default_rng(3).normal(size=(n, 1, 2)), np.arange(n) % 2
    policy = Policy("agent", "problem", 0, (1, 2), ("on", "off"), ("a", "b", "c"), mean, np.array(2.0), BINS, layers)
    inputs = np.concatenate([2.0 * (pictures[:, 0] - mean), np.eye(2)[states]], 1)
    np.testing.assert_allclose(policy.q(pictures, states), values.q_values(layers, inputs, BINS), rtol=1e-4, atol=1e-5)
    assert [policy(picture, state) for picture, state in zip(pictures, states, strict=True)] == list(
        policy.q(pictures.reshape(n, 2), states).argmax(1)
    )
    layers, prior = layers_of(N_MEMBERS * N_ACTIONS * len(BINS)), layers_of(N_MEMBERS * N_ACTIONS, 1)
    policy = dataclasses.replace(policy, layers=layers, prior=tuple(ensemble.mean_prior(prior, 0.5, N_MEMBERS)))
    expected = members(layers, prior, 0.5, inputs, jnp.array(BINS), N_MEMBERS).mean(1)
    np.testing.assert_allclose(policy.q(pictures, states), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("n_states", "size"), [(1, 1.0), (2, 0.5 * 2**0.5), (3, 0.5)])  # of 4 inputs
def test_monitor_states_are_about_as_large_as_pictures(n_states, size):
    plan, n_numbers = Plan(0, 4, n_states, 2, 2, (4,), 8, 1, True, True, 0, 0, 0, 0), N_INPUTS - n_states
    random, states = np.random.default_rng(1), np.arange(6) % n_states
    pictures, layers, units = random.normal(size=(6, n_numbers)), layers_of(N_ACTIONS), np.eye(n_states)[states]
    inputs = joined(plan, jnp.array(pictures), jnp.array(states))
    np.testing.assert_allclose(inputs, np.concatenate([pictures, size * units], 1))
    policy = [for_unit_vectors(layers[0], plan, n_numbers), *layers[1:]]
    np.testing.assert_allclose(forward(policy, np.concatenate([pictures, units], 1)), network(layers, inputs))


@pytest.mark.parametrize(
    ("environment", "monitor"), [("RiverSwim", "Random(p=0.4)"), ("Walk(reward_noise=0.5)", "Button")]
)
def test_steps_are_those_of_the_plain_simulation(environment, monitor):
    problem, seed, n = monmdp.make(environment, monitor), 5, 300
    arrays, simulation = compact(problem), Simulation(problem, seed)
    device, draws = world.on_device(arrays, world.sizes_of(arrays)), world.draws_of(seed, n, noisy=True)
    states, random = np.flatnonzero(problem.reachable), np.random.default_rng(0)
    step = jax.jit(
        lambda t, pair: world.take_step(jax.tree.map(jnp.array, device), jax.tree.map(jnp.array, draws), t, pair)
    )
    episode = 0
    assert states[world.start_state(device, draws.start[0])] == simulation.state
    for t in range(n):
        action = int(random.integers(problem.n_actions))
        result = step(t, int(np.searchsorted(states, simulation.state)) * problem.n_actions + action)
        plain = simulation.step(action)
        assert (bool(result.observed), bool(result.terminated)) == (plain.observed, plain.terminated)
        assert float(result.env_reward) == pytest.approx(plain.env_reward, rel=1e-5, abs=1e-6)
        assert float(result.monitor_reward) == pytest.approx(plain.monitor_reward)
        if plain.terminated or plain.truncated:
            episode += 1
            simulation.restart()
            assert states[world.start_state(device, draws.start[episode])] == simulation.state
        else:
            assert states[result.next_state] == simulation.state
