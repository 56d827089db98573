"""Gaussian processes, probabilistic programs, equivariant networks, audio and reinforcement learning's building blocks."""

import inspect

import torch

from program import mean_of

NEEDS = ["gpytorch", "botorch", "pyro-ppl", "e3nn", "torchaudio", "torchrl", "torchdiffeq", "zuko", "captum", "pytorch-metric-learning", "x-transformers", "opacus"]
KERNELS = ("RBFKernel", "MaternKernel", "RQKernel", "LinearKernel", "PeriodicKernel", "CosineKernel", "SpectralMixtureKernel", "PolynomialKernel", "ArcKernel",
           "PiecewisePolynomialKernel", "RFFKernel", "GridInterpolationKernel", "InducingPointKernel")
FLOWS = ("MAF", "NSF", "NICE", "NAF", "UNAF", "GF", "BPF", "SOSPF", "CNF", "RealNVP")
PYRO = ("svi", "hmc", "gp", "hmm", "vae")
CAPTUM = ("IntegratedGradients", "Saliency", "DeepLift", "GradientShap", "InputXGradient", "FeatureAblation", "Occlusion", "ShapleyValueSampling", "Lime", "KernelShap")
TRANSFORMERS = ("Encoder", "Decoder", "ViT", "rotary", "alibi", "flash", "rms")


def names():
    from pytorch_metric_learning import losses
    from torchdiffeq._impl.odeint import SOLVERS
    simple = [name for name in losses.__dict__ if name.endswith("Loss") and name[0].isupper()]
    return [f"gp.{name}" for name in KERNELS] + [f"flow.{name}" for name in FLOWS] + [f"pyro.{name}" for name in PYRO] + [f"captum.{name}" for name in CAPTUM] + \
        [f"ode.{name}" for name in SOLVERS if "scipy" not in name] + [f"metric.{name}" for name in simple] + \
        [f"xt.{name}" for name in TRANSFORMERS] + ["e3nn.gate", "e3nn.network", "e3nn.harmonics", "audio.Conformer", "audio.Emformer", "audio.ConvTasNet",
                                                    "audio.wav2vec2", "audio.transforms", "audio.rnnt", "botorch.ei", "opacus.dp", "torchrl.ppo", "torchrl.dqn"]


def gaussian_process(name, told):
    import gpytorch
    options = {"SpectralMixtureKernel": {"num_mixtures": 2}, "PolynomialKernel": {"power": 2}, "RFFKernel": {"num_samples": 8}}.get(name, {})
    inputs = torch.linspace(0, 1, 30).to(told.device)
    targets = torch.sin(inputs * 6)
    base = gpytorch.kernels.RBFKernel()
    if name == "GridInterpolationKernel":
        kernel = gpytorch.kernels.GridInterpolationKernel(base, grid_size=16, num_dims=1)
    elif name == "InducingPointKernel":
        kernel = gpytorch.kernels.InducingPointKernel(base, inducing_points=inputs[:5, None].clone(), likelihood=gpytorch.likelihoods.GaussianLikelihood())
    elif name == "ArcKernel":
        kernel = gpytorch.kernels.ArcKernel(base, ard_num_dims=1)
    else:
        kernel = getattr(gpytorch.kernels, name)(**options)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(inputs, targets, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(kernel)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(told.device)
    model = Model(likelihood).to(told.device)
    likelihood_of = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = -likelihood_of(model(inputs), targets)
        loss.backward()
        optimizer.step()
        told("loss", loss)
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        told("mean", likelihood(model(inputs + 0.01)).mean)


def probabilistic(name, told):
    import pyro
    import pyro.distributions as dist
    pyro.set_rng_seed(1)
    data = torch.randn(20).to(told.device) + 2
    if name == "gp":
        import pyro.contrib.gp as gp
        model = gp.models.GPRegression(data, data.sin(), gp.kernels.RBF(1)).to(told.device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        loss_of = pyro.infer.Trace_ELBO().differentiable_loss
        for _ in range(3):
            optimizer.zero_grad()
            loss = loss_of(model.model, model.guide)
            loss.backward()
            optimizer.step()
            told("loss", loss)
        return
    if name == "hmm":
        def model(sequence):
            transition = pyro.param("t", torch.full((3, 3), 1 / 3, device=told.device), constraint=dist.constraints.simplex)
            places = pyro.param("m", torch.tensor([0., 1, 2], device=told.device))
            state = 0
            for step, value in pyro.markov(enumerate(sequence)):
                state = pyro.sample(f"s{step}", dist.Categorical(transition[state]), infer={"enumerate": "parallel"})
                pyro.sample(f"o{step}", dist.Normal(places[state], 1.), obs=value)
        pyro.clear_param_store()
        svi = pyro.infer.SVI(model, lambda sequence: None, pyro.optim.Adam({"lr": 0.05}), pyro.infer.TraceEnum_ELBO(max_plate_nesting=0))
        for _ in range(3):
            told("loss", svi.step(data[:6]))
        return
    def model(values):
        place = pyro.sample("place", dist.Normal(torch.zeros((), device=told.device), 5.))
        with pyro.plate("data", len(values)):
            pyro.sample("seen", dist.Normal(place, 1.), obs=values)
    if name == "hmc":
        sampler = pyro.infer.MCMC(pyro.infer.NUTS(model), num_samples=5, warmup_steps=5, disable_progbar=True)
        sampler.run(data)
        told("samples", sampler.get_samples()["place"])
        return
    if name == "vae":
        encoder, decoder = torch.nn.Linear(8, 4).to(told.device), torch.nn.Linear(2, 8).to(told.device)
        images = torch.rand(10, 8).to(told.device)

        def model(values):
            pyro.module("decoder", decoder)
            with pyro.plate("data", len(values)):
                latent = pyro.sample("latent", dist.Normal(torch.zeros(len(values), 2, device=told.device), 1.).to_event(1))
                pyro.sample("seen", dist.Bernoulli(logits=decoder(latent)).to_event(1), obs=values.round())

        def guide(values):
            pyro.module("encoder", encoder)
            with pyro.plate("data", len(values)):
                place, scale = encoder(values).chunk(2, -1)
                pyro.sample("latent", dist.Normal(place, scale.exp()).to_event(1))
        data = images
    else:
        guide = pyro.infer.autoguide.AutoNormal(model)
    pyro.clear_param_store()
    svi = pyro.infer.SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), pyro.infer.Trace_ELBO())
    for _ in range(4):
        told("loss", svi.step(data))


def equivariant(name, told):
    from e3nn import nn, o3
    if name == "gate":
        gate = nn.Gate("4x0e", [torch.relu], "2x0e", [torch.sigmoid], "2x1o").to(told.device)
        told.trained(torch.nn.Sequential(o3.Linear("4x0e+2x1o", gate.irreps_in), gate).to(told.device),
                     (o3.Irreps("4x0e+2x1o").randn(5, -1).to(told.device),), mean_of)
    elif name == "harmonics":
        points = torch.randn(10, 3).to(told.device).requires_grad_()
        values = o3.spherical_harmonics([0, 1, 2, 3, 4], points, normalize=True)
        values.square().sum().backward()
        told("values", [values, points.grad])
    else:
        product = o3.FullyConnectedTensorProduct("4x0e+2x1o", "1x0e+1x1o", "4x0e+2x1o").to(told.device)
        told.trained(product, (product.irreps_in1.randn(6, -1).to(told.device), product.irreps_in2.randn(6, -1).to(told.device)), mean_of)


def audio(name, told):
    import torchaudio
    wave = torch.randn(2, 4000).to(told.device)
    if name == "transforms":
        for kind in ("Spectrogram", "MelSpectrogram", "MFCC", "GriffinLim", "Resample", "AmplitudeToDB", "SpectralCentroid"):
            options = {"MFCC": {"melkwargs": {"n_mels": 23, "n_fft": 256}}, "MelSpectrogram": {"n_mels": 23, "n_fft": 256}, "Resample": {
                "orig_freq": 16000, "new_freq": 8000}, "SpectralCentroid": {"sample_rate": 16000}, "GriffinLim": {"n_iter": 4, "n_fft": 400, "rand_init": False}}
            module = getattr(torchaudio.transforms, kind)(**options.get(kind, {})).to(told.device)
            told(kind, module(torch.rand(201, 20).to(told.device) if kind == "GriffinLim" else wave))
    elif name == "rnnt":
        logits = torch.randn(2, 6, 4, 5).to(told.device).requires_grad_()
        length = torch.tensor([6, 6], dtype=torch.int32).to(told.device)
        loss = torchaudio.functional.rnnt_loss(logits, torch.randint(1, 5, (2, 3), dtype=torch.int32).to(told.device), length, length - 3)
        loss.backward()
        told("loss", [loss, logits.grad])
    elif name == "ConvTasNet":
        told.trained(torchaudio.models.ConvTasNet(2, msk_num_layers=2, msk_num_stacks=1).to(told.device), (wave[:, None],), mean_of)
    elif name == "wav2vec2":
        model = torchaudio.models.wav2vec2_model("group_norm", None, False, 32, 0., 48, 4, 2, 4, 0., 0., 64, 0., 0., False, 10).to(told.device)
        told.trained(model, (wave,), mean_of)
    else:
        model = (torchaudio.models.Conformer(40, 4, 64, 2, 7) if name == "Conformer" else torchaudio.models.Emformer(40, 4, 64, 2, 4, right_context_length=1)).to(told.device)
        told.trained(model, (torch.randn(2, 21, 40).to(told.device), torch.tensor([20, 12]).to(told.device)), mean_of)


def run(name, told):
    kind, _, name = name.partition(".")
    device = told.device
    if kind == "gp":
        gaussian_process(name, told)
    elif kind == "pyro":
        probabilistic(name, told)
    elif kind == "e3nn":
        equivariant(name, told)
    elif kind == "audio":
        audio(name, told)
    elif kind == "flow":
        import zuko
        flow = getattr(zuko.flows, name)(3, context=2, **({"transforms": 2} if name != "CNF" else {})).to(device)
        values, context = torch.randn(16, 3).to(device) / 4, torch.randn(16, 2).to(device)
        optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)
        for _ in range(3):
            loss = -flow(context).log_prob(values).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            told("loss", loss)
    elif kind == "ode":
        import torchdiffeq
        field = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).to(device)
        start = torch.tensor([[1., 0.]]).to(device)
        end = torchdiffeq.odeint_adjoint(lambda t, y: field(y), start, torch.linspace(0, 1, 5).to(device), method=name, adjoint_params=tuple(field.parameters()))
        end.square().sum().backward()
        told("path", [end, *(p.grad for p in field.parameters())])
    elif kind == "captum":
        from captum import attr
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).to(device)
        inputs = torch.randn(4, 6).to(device)
        options = {"GradientShap": {"baselines": torch.zeros(3, 6).to(device)}, "Occlusion": {"sliding_window_shapes": (2,)}}.get(name, {})
        if name in ("Lime", "KernelShap"):
            inputs, options = inputs[:1], {"n_samples": 20}
        told("attributions", getattr(attr, name)(model).attribute(inputs, target=1, **options))
    elif kind == "metric":
        from pytorch_metric_learning import losses
        parameters = inspect.signature(getattr(losses, name).__init__).parameters
        options = {key: value for key, value in {"num_classes": 4, "embedding_size": 8}.items() if key in parameters}
        loss_of = getattr(losses, name)(**options).to(device)
        embeddings = torch.randn(12, 8).to(device).requires_grad_()
        loss = loss_of(embeddings, (torch.arange(12) % 4).to(device))
        loss.backward()
        told("loss", [loss, embeddings.grad])
    elif kind == "xt":
        from x_transformers import Decoder, Encoder, TransformerWrapper, ViTransformerWrapper
        if name == "ViT":
            model = ViTransformerWrapper(image_size=32, patch_size=8, num_classes=5, attn_layers=Encoder(dim=32, depth=2, heads=4))
            told.trained(model.to(device), (torch.randn(2, 3, 32, 32).to(device),), mean_of)
        else:
            options = {"rotary": {"rotary_pos_emb": True}, "alibi": {"alibi_pos_bias": True}, "flash": {"attn_flash": True}, "rms": {"use_rmsnorm": True}}.get(name, {})
            layers = (Encoder if name == "Encoder" else Decoder)(dim=32, depth=2, heads=4, **options)
            told.trained(TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=layers).to(device), (torch.randint(0, 50, (2, 16)).to(device),), mean_of)
    elif kind == "botorch":
        import gpytorch
        from botorch.acquisition import LogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        inputs = torch.rand(10, 2, dtype=torch.float64).to(device)
        model = SingleTaskGP(inputs, inputs.sum(1, keepdim=True).sin())
        fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
        improvement = LogExpectedImprovement(model, best_f=inputs.sum(1).sin().max())
        told("improvement", improvement(torch.full((3, 1, 2), 0.5, dtype=torch.float64).to(device)))
        bounds = torch.tensor([[0., 0], [1, 1]], dtype=torch.float64).to(device)
        told("best", [round(x, 1) for x in optimize_acqf(improvement, bounds, q=1, num_restarts=2, raw_samples=8)[0].flatten().tolist()])
    elif kind == "opacus":
        import opacus
        model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 6), torch.randint(0, 3, (32,))), batch_size=8)
        model, optimizer, loader = opacus.PrivacyEngine().make_private(module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=0., max_grad_norm=1.,
                                                                        poisson_sampling=False)
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
            told("loss", loss)
    else:
        from tensordict import TensorDict
        from tensordict.nn import TensorDictModule
        from torchrl import objectives
        from torchrl.modules import MLP, QValueActor
        if name == "dqn":
            actor = QValueActor(MLP(4, 2, num_cells=[16]), in_keys=["observation"], spec=None, action_space="categorical").to(device)
            loss_of = objectives.DQNLoss(actor, action_space="categorical", delay_value=True).to(device)
            data = TensorDict({"observation": torch.randn(8, 4), "action": torch.randint(0, 2, (8,)), "next": {
                "observation": torch.randn(8, 4), "reward": torch.randn(8, 1), "done": torch.zeros(8, 1, dtype=torch.bool),
                "terminated": torch.zeros(8, 1, dtype=torch.bool)}}, [8]).to(device)
            loss = loss_of(data)["loss"]
        else:
            value = TensorDictModule(MLP(4, 1, num_cells=[16]), in_keys=["observation"], out_keys=["state_value"]).to(device)
            from torchrl.objectives.value import GAE
            data = TensorDict({"observation": torch.randn(1, 8, 4), "next": {"observation": torch.randn(1, 8, 4), "reward": torch.randn(1, 8, 1), "done": torch.zeros(
                1, 8, 1, dtype=torch.bool), "terminated": torch.zeros(1, 8, 1, dtype=torch.bool)}}, [1, 8]).to(device)
            GAE(gamma=0.9, lmbda=0.9, value_network=value)(data)
            told("advantage", data["advantage"])
            loss = value(data)["state_value"].square().mean()
        loss.backward()
        told("loss", loss)
