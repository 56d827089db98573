"""Stable-Baselines3's algorithms on gymnasium's classic environments."""

NEEDS = ["stable-baselines3", "gymnasium"]


def names():
    return [f"{algorithm}.{environment}" for algorithm in ("A2C", "PPO", "DQN") for environment in ("CartPole-v1", "Acrobot-v1", "MountainCar-v0")] + \
        [f"{algorithm}.{environment}" for algorithm in ("A2C", "PPO", "SAC", "TD3", "DDPG") for environment in ("Pendulum-v1", "MountainCarContinuous-v0")]


def run(name, told):
    import stable_baselines3
    algorithm, _, environment = name.partition(".")
    options = {"n_steps": 64} if algorithm in ("A2C", "PPO") else {"learning_starts": 50, "batch_size": 32}
    model = getattr(stable_baselines3, algorithm)("MlpPolicy", environment, seed=1, device="auto", **options)
    model.learn(128 if "n_steps" in options else 60)  # few steps with gradients: policies are chaotic
    told("parameters", list(model.policy.state_dict().values()))
    observation = model.get_env().reset()
    told("action", model.predict(observation, deterministic=True)[0].tolist())
