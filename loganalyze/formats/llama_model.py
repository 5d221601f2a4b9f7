"""llama.cpp: loader, model data, offload and context settings (grammar ``llama_load`` without fit).

Facts: ``gguf_version``, ``n_tensors``, ``tensor_types`` (type -> tensors), ``ftype`` (as printed), ``size_label``,
``load_mode``, ``direct_io``, ``layers_by_device``, ``kv_on_gpu`` (to b1618: which halves of the cache), ``n_layer_all``,
``overridden_tensors``, ``overridden_mib``, ``pipeline_parallel``, ``mirostat``.
"""

from __future__ import annotations

from loganalyze.formats.base import listening
from loganalyze.formats.llama_blocks import Loads
from loganalyze.formats.llama_names import ftype_name, quant_of_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.model.records import Event
    from loganalyze.scan.line import Line

UNITS = {"T": 10**12, "B": 10**9, "M": 10**6, "K": 10**3}
BYTES = {"K": 2**10, "M": 2**20, "G": 2**30}
# Names of model data -> fields of Setup. print_info and its forerunners print them all as ``name = int``.
META_FIELDS = {
    "n_layer": "n_layer",
    "n_head_kv": "n_head_kv",
    "n_embd": "n_embd",
    "n_embd_k_gqa": "n_embd_k_gqa",
    "n_embd_v_gqa": "n_embd_v_gqa",
    "n_swa": "n_swa",
    "n_expert": "n_expert",
    "n_expert_used": "n_expert_used",
    "n_vocab": "n_vocab",
    "n_ctx_train": "n_ctx_train",
}
# Metadata keys (after the architecture's name and a dot) -> fields of Setup; print_info outranks them.
KEY_FIELDS = {
    "block_count": "n_layer",
    "attention.head_count_kv": "n_head_kv",
    "embedding_length": "n_embd",
    "attention.sliding_window": "n_swa",
    "expert_count": "n_expert",
    "expert_used_count": "n_expert_used",
    "vocab_size": "n_vocab",
    "context_length": "n_ctx_train",
}
CONTEXT_FIELDS = {
    "n_ctx": "n_ctx",
    "n_batch": "n_batch",
    "n_ubatch": "n_ubatch",
    "n_seq_max": "n_parallel",
    "n_ctx_per_seq": "n_ctx_slot",
    "n_ctx_seq": "n_ctx_slot",
}
FLASH = {"0": "off", "1": "on", "disabled": "off", "enabled": "on", "auto": "auto"}
# Settings that only ik_llama.cpp prints.
IK_WORDS = frozenset({"mla_attn", "attn_max_b", "fused_moe", "ser", "graph_reuse", "fused_up_gate", "grouped_er"})


class Model:
    """Handlers of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.loads = Loads.of(state)

    def handlers(self) -> dict[str, Handler]:
        return listening(self, "llama_load", "on_")

    # ---- loader

    def _begin(self, path: str, line: Line) -> None:
        self.loads.begin_model(path, line)
        self.loads.is_llama()
        setup = self.loads.target.setup
        if setup.quant is None:
            setup.quant = quant_of_file(path)

    def on_gguf_begin(self, fields: Fields, line: Line) -> None:
        self._begin(fields["gguf_path"], line)
        self.loads.fact("n_tensors", fields["n_tensors"], line)
        self.loads.fact("gguf_version", fields["gguf_version"].strip().removesuffix(")"), line)

    def on_ggml_begin(self, fields: Fields, line: Line) -> None:
        self._begin(fields["path"].strip(), line)

    def on_ggml1_begin(self, fields: Fields, line: Line) -> None:
        self._begin(fields["quoted_path"].strip("'"), line)

    def on_server_model(self, fields: Fields, line: Line) -> None:
        if "draft_path" in fields:
            self.loads.announce_draft(fields["draft_path"].strip("'"))
            return
        self.loads.is_llama()
        setup = self.state.run.setup
        path = fields["quoted_path"].strip("'")
        if setup.model_path is None:
            setup.model_path = path
        if setup.quant is None:
            setup.quant = quant_of_file(path)

    def on_gguf_kv(self, fields: Fields, line: Line) -> None:
        value = fields.get("value", "").strip()
        key = fields["key"]
        setup = self.loads.target.setup
        if key == "general.architecture":
            setup.arch = value or setup.arch
        elif key == "general.name":
            setup.model_name = value or setup.model_name
        else:
            name = KEY_FIELDS.get(key.partition(".")[2])
            if name and value.isdigit() and len(value) < 12 and getattr(setup, name) is None:
                setattr(setup, name, int(value))

    def on_gguf_type(self, fields: Fields, line: Line) -> None:
        types = self.loads.target.facts.get("tensor_types", {})
        self.loads.fact("tensor_types", {**types, fields["type"]: fields["count"]}, line)

    # ---- model data

    def on_hparam(self, fields: Fields, line: Line) -> None:
        setup = self.loads.target.setup
        name, number = fields["hparam_name"], fields["number"]
        if name == "n_ctx":
            setup.n_ctx = number
        elif name in META_FIELDS:
            setattr(setup, META_FIELDS[name], number)

    def on_hparam_ftype(self, fields: Fields, line: Line) -> None:
        self._ftype(fields["old_ftype"], line)

    def on_hparam_size(self, fields: Fields, line: Line) -> None:
        self.loads.fact("size_label", fields["size_label"], line)

    def on_meta_int(self, fields: Fields, line: Line) -> None:
        name = fields["meta_name"]
        if name == "n_layer_all":
            self.loads.fact(name, fields.get("number"), line)
        if name not in META_FIELDS:
            return
        value = fields.get("number")
        if value is None:
            value = _typical(fields["number_list"])
        setattr(self.loads.target.setup, META_FIELDS[name], value)

    def on_meta_params(self, fields: Fields, line: Line) -> None:
        self.loads.target.setup.n_params = round(fields["params"] * UNITS[fields["params_unit"]])

    def on_meta_size(self, fields: Fields, line: Line) -> None:
        setup = self.loads.target.setup
        setup.model_bytes = round(fields["size"] * BYTES[fields["unit"][0]])
        setup.bpw = fields["bpw"]

    def on_meta_ftype(self, fields: Fields, line: Line) -> None:
        self._ftype(fields["ftype"], line)

    def _ftype(self, text: str, line: Line) -> None:
        self.loads.fact("ftype", text.strip(), line)
        self.loads.target.setup.quant = ftype_name(text)

    def on_meta_title(self, fields: Fields, line: Line) -> None:
        self.loads.target.setup.model_name = fields["title"].strip()

    def on_meta_arch(self, fields: Fields, line: Line) -> None:
        self.loads.target.setup.arch = fields["arch"].strip()

    def on_meta_type(self, fields: Fields, line: Line) -> None:
        self.loads.fact("size_label", fields["size_class"].strip(), line)

    def on_meta_no_alloc(self, fields: Fields, line: Line) -> None:
        if fields["number"] == 1:
            self.loads.probe()

    # ---- tensors and offload

    def on_load_mode(self, fields: Fields, line: Line) -> None:
        setup = self.loads.target.setup
        if "mode" in fields:
            setup.mmap = fields["mode"].startswith("mmap")
            self.loads.fact("load_mode", fields["mode"], line)
        else:
            setup.mmap = fields["mmap"] == "true"
        if "direct_io" in fields:
            self.loads.fact("direct_io", fields["direct_io"] == "true", line)

    def on_offloading(self, fields: Fields, line: Line) -> None:
        setup = self.loads.target.setup
        if "kv_half" in fields:
            halves = self.loads.target.facts.get("kv_on_gpu", "")
            self.loads.fact("kv_on_gpu", halves + fields["kv_half"], line)
        elif "repeating" in fields and "bracket" in fields and setup.layers_on_gpu is None:
            setup.layers_on_gpu = fields["repeating"]
        elif "repeating" not in fields and "bracket" in fields and setup.layers_on_gpu == setup.n_layer is not None:
            # To b610 no line sums up: every layer of the model and the output layer are all there is.
            setup.layers_on_gpu = setup.layers_total = setup.n_layer + 1

    def on_offloaded(self, fields: Fields, line: Line) -> None:
        setup = self.loads.target.setup
        setup.layers_on_gpu, setup.layers_total = fields["on_gpu"], fields["of_layers"]
        self.loads.target.fact_lines["layers_on_gpu"] = line.number

    def on_using_backend(self, fields: Fields, line: Line) -> None:
        self.loads.backend(fields["backend"])

    def on_layer_device(self, fields: Fields, line: Line) -> None:
        target, device = self.loads.target, fields["device"]
        layers = target.facts.get("layers_by_device")
        if layers is None:
            self.loads.fact("layers_by_device", {device: 1}, line, target)
        else:
            layers[device] = layers.get(device, 0) + 1
            target.fact_lines["layers_by_device"] = line.number

    def on_tensor_override(self, fields: Fields, line: Line) -> None:
        pattern = ".".join("*" if part.isdigit() else part for part in fields["key"].split("."))
        device = fields["device"]
        overrides = self.loads.target.setup.tensor_overrides
        if f"{pattern}={device}" not in overrides:
            overrides.append(f"{pattern}={device}")
        events: dict[str, Event] = self.state.own().setdefault("overrides", {})
        event = events.get(device)
        if event is None:
            event = self.state.event("tensor_override", line, pattern=pattern, buffer=device, count=0, mib=None)
            events[device] = event
        event.data["count"] += 1
        if "mib" in fields:
            event.data["mib"] = (event.data["mib"] or 0.0) + fields["mib"]
        ours = [e.data for e in events.values()]
        self.loads.fact("overridden_tensors", sum(data["count"] for data in ours), line)
        sizes = [data["mib"] for data in ours if data["mib"] is not None]
        self.loads.fact("overridden_mib", sum(sizes) if sizes else None, line)

    # ---- context

    def on_context_begin(self, fields: Fields, line: Line) -> None:
        self.loads.begin_context(line)

    def on_context_int(self, fields: Fields, line: Line) -> None:
        name = fields["context_name"]
        if name == "n_ctx":
            self.loads.begin_context(line, old=True)
        if name in CONTEXT_FIELDS:
            target = self.loads.target
            setattr(target.setup, CONTEXT_FIELDS[name], fields["number"])
            target.fact_lines[CONTEXT_FIELDS[name]] = line.number

    def on_context_flash(self, fields: Fields, line: Line) -> None:
        self._flash(FLASH.get(fields["flash"], fields["flash"]), line)

    def on_flash_on(self, fields: Fields, line: Line) -> None:
        self._flash("on", line)

    def _flash(self, value: str | None, line: Line) -> None:
        target = self.loads.target
        target.setup.flash_attn = value
        target.fact_lines["flash_attn"] = line.number

    def on_context_unified(self, fields: Fields, line: Line) -> None:
        self.loads.fact("kv_unified", fields["kv_unified"] == "true", line)

    def on_context_other(self, fields: Fields, line: Line) -> None:
        if fields["context_word"] in IK_WORDS:
            self.state.run.engine = "ik_llama.cpp"

    def on_context_train(self, fields: Fields, line: Line) -> None:
        setup = self.loads.target.setup
        setup.n_ctx_train = fields["n_ctx_train"]
        setup.n_ctx_slot = setup.n_ctx_slot or fields["n_ctx_slot"]

    def on_pipeline(self, fields: Fields, line: Line) -> None:
        self.loads.fact("pipeline_parallel", True, line)

    # ---- generation

    def on_generate(self, fields: Fields, line: Line) -> None:
        setup = self.state.run.setup
        setup.n_ctx, setup.n_batch, setup.n_predict = fields["n_ctx"], fields["n_batch"], fields["n_predict"]
        self.state.run.fact_lines["n_batch"] = line.number

    def on_sampler_temp(self, fields: Fields, line: Line) -> None:
        self.state.run.setup.temperature = fields["temperature"]
        if "mirostat" in fields:
            self.on_sampler_mirostat(fields, line)

    def on_sampler_mirostat(self, fields: Fields, line: Line) -> None:
        self.loads.fact("mirostat", fields["mirostat"], line, self.loads.main)


def _typical(text: str) -> int | None:
    """The most frequent number of a per-layer list ``[8, 8, 4, ...]``; the larger one of equals."""
    numbers = [int(part) for part in text.strip("[]").split(",") if part.strip().isdigit()]
    return max(set(numbers), key=lambda n: (numbers.count(n), n), default=None)


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of grammar ``llama_load``, without those of fit."""
    return Model(state).handlers()
