"""llama.cpp: build, start of a process, system_info and compute devices (grammar ``llama_device``).

Facts: ``commit``, ``compiler``, ``verbosity``, ``seed``, ``devices_used`` (ids the model was spread over),
``host_total_mib``, ``cpu_name``, ``working_set_mib`` (Apple: what the GPU may use).
"""

from __future__ import annotations

from loganalyze.formats.base import listening
from loganalyze.formats.llama_blocks import Loads
from loganalyze.model.records import Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.scan.line import Line

# Start of a device or buffer name -> backend. Host names follow none of them.
BACKENDS = (
    ("CUDA", "CUDA"),
    ("ROCm", "ROCm"),
    ("HIP", "ROCm"),
    ("MUSA", "MUSA"),
    ("Vulkan", "Vulkan"),
    ("Metal", "Metal"),
    ("MTL", "Metal"),
    ("SYCL", "SYCL"),
    ("OpenCL", "OpenCL"),
    ("GPUOpenCL", "OpenCL"),
    ("CANN", "CANN"),
    ("Kompute", "Kompute"),
    ("WebGPU", "WebGPU"),
    ("HTP", "Hexagon"),
    ("RPC", "RPC"),
)
MIB = 1024 * 1024


def backend_of(device: str) -> str | None:
    """Backend of a device or buffer name as printed; None for host memory (``CPU``, ``CUDA_Host``, ``CPU_Mapped``)."""
    if "_Host" in device:
        return None
    return next((backend for start, backend in BACKENDS if device.startswith(start)), None)


def working_set_mib(size_mb: float) -> float:
    """Apple's limit in MiB. The line says MB for both MiB (to 2023-10) and 1e6 bytes (after).

    The system's limit is 2/3 or 3/4 of whole GiB, so that a multiple of 256/3 is already in MiB.
    """
    steps = size_mb * 3 / 256
    return size_mb if abs(steps - round(steps)) < 0.001 else round(size_mb * 1e6 / MIB, 2)


class Devices:
    """Handlers of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.loads = Loads.of(state)
        self._banner = "CUDA"

    def handlers(self) -> dict[str, Handler]:
        return listening(self, "llama_device", "on_")

    def find(self, line: Line, backend: str | None, device: str | None, name: str | None) -> Device:
        """The device of that id, or else of that name, of the current run; added when new."""
        run = self.state.run
        for known in run.devices:
            if device is not None and known.id == device:
                if name and name != known.name and name.endswith(known.name or ""):
                    # Tables print the name without its maker.
                    known.name = name
                return known
        for known in run.devices:
            if known.id is None and name is not None and known.name == name:
                known.id = device
                return known
        index = device.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") if device else ""
        found = Device(name, device, int(index) if index.isdigit() else None, backend)
        found.source, found.line = self.state.source.path, line.number
        run.devices.append(found)
        if backend is not None and backend not in ("RPC", "CPU"):
            self.loads.backend(backend)
        return found

    # ---- build and start

    def on_build_main(self, fields: Fields, line: Line) -> None:
        self.loads.mark("build")
        self.loads.is_llama()
        self.state.run.version = f"b{fields['build_no']}"
        self._run_fact("commit", fields["commit"], line)
        if "compiler" in fields:
            self._run_fact("compiler", f"{fields['compiler']} for {fields['target'].strip()}", line)

    on_build = on_build_main

    def on_build_tag(self, fields: Fields, line: Line) -> None:
        self.loads.is_llama()
        version, _, commit = fields["tag"].partition("-")
        self.state.run.version = version
        if commit:
            self._run_fact("commit", commit, line)

    def on_chat_model(self, fields: Fields, line: Line) -> None:
        setup = self.state.run.setup
        setup.model_path = setup.model_path or fields["path"].strip()

    def on_backend_init(self, fields: Fields, line: Line) -> None:
        self.loads.mark("backend_init")
        self.loads.is_llama()

    def on_server_init(self, fields: Fields, line: Line) -> None:
        self.loads.mark("server_init")
        self.loads.is_llama()

    def on_verbosity(self, fields: Fields, line: Line) -> None:
        self.loads.is_llama()
        self._run_fact("verbosity", fields["number"], line)

    def on_seed(self, fields: Fields, line: Line) -> None:
        self._run_fact("seed", fields["number"], line)

    def on_threadpool(self, fields: Fields, line: Line) -> None:
        # Printed once the context stands; the end of fit is hidden by default since 2026-05.
        self.loads.fitting(False)
        self.state.run.setup.n_threads = fields["n_threads"]

    def on_system_info(self, fields: Fields, line: Line) -> None:
        self.loads.is_llama()
        setup = self.state.run.setup
        self.state.run.fact_lines["n_threads"] = line.number
        setup.n_threads = fields["n_threads"]
        setup.n_threads_total = fields["n_threads_total"]
        self._built_for(fields.get("features", ""))

    def _built_for(self, features: str) -> None:
        """Since b4163 the features are grouped by backend: ``CUDA : ARCHS = 860 | ... | CPU : SSE3 = 1 | ...``.

        Until 2024-04, when ``LLAMAFILE`` joined the list, ``BLAS`` was 1 in every build for a GPU but Metal's, which does
        not exist on x86.
        """
        parts = [part.strip() for part in features.split("|")]
        groups = [part.partition(" : ")[0] for part in parts if " : " in part]
        x86 = "AVX = 1" in parts or "SSE3 = 1" in parts
        early = not groups and "LLAMAFILE" not in features
        if early and x86 and "BLAS = 0" in parts and self.state.run.backend is None:
            self.state.run.backend = "CPU"
            return
        gpu = [group for group in groups if group not in ("CPU", "BLAS", "RPC")]
        if gpu:
            self.loads.backend(gpu[0])
        elif "CPU" in groups and self.state.run.backend is None:
            self.state.run.backend = "CPU"

    on_server_system_info = on_system_info

    def on_parallel_auto(self, fields: Fields, line: Line) -> None:
        self.state.run.setup.n_parallel = fields["n_parallel"]

    # ---- banners

    def on_cuda_found(self, fields: Fields, line: Line) -> None:
        self.loads.mark(f"devices of {fields['backend']}")
        self._banner = fields["backend"]
        if fields["count"]:
            self.loads.backend(self._banner)

    def on_cuda_device(self, fields: Fields, line: Line) -> None:
        backend = "ROCm" if "gfx" in fields else self._banner
        device = self.find(line, backend, f"{backend}{fields['index']}", fields["device_name"])
        device.name = fields["device_name"].strip()
        if "total_mib" in fields:
            device.total_mib = float(fields["total_mib"])

    def on_vulkan_found(self, fields: Fields, line: Line) -> None:
        self.loads.mark("devices of Vulkan")
        if fields["count"]:
            self.loads.backend("Vulkan")

    def on_vulkan_device(self, fields: Fields, line: Line) -> None:
        device = self.find(line, "Vulkan", f"Vulkan{fields.get('index', 0)}", fields["vulkan_name"])
        device.uma = fields["uma"] == "1"

    def on_metal_info(self, fields: Fields, line: Line) -> None:
        name = fields.get("metal_name")
        if name is None and "uma" not in fields:
            return
        device = self._metal(line, name.strip() if name else None)
        if "uma" in fields:
            device.uma = fields["uma"] == "true"

    def _metal(self, line: Line, name: str | None) -> Device:
        known = [device for device in self.state.run.devices if device.backend == "Metal"]
        if known and (name is None or known[-1].name in (None, name)):
            known[-1].name = known[-1].name or name
            return known[-1]
        return self.find(line, "Metal", None, name)

    def on_metal_working_set(self, fields: Fields, line: Line) -> None:
        mib = working_set_mib(fields["size_mb"])
        self._run_fact("working_set_mib", mib, line)
        device = self._metal(line, None)
        if device.total_mib is None:
            device.total_mib = mib

    def on_sycl_device(self, fields: Fields, line: Line) -> None:
        device = self.find(line, "SYCL", f"SYCL{fields['index']}", fields["sycl_name"])
        device.total_mib = float(fields["total_m"]) if "total_m" in fields else fields["total_bytes"] / 2**20

    def on_sycl_found(self, fields: Fields, line: Line) -> None:
        if fields["count"]:
            self.loads.backend("SYCL")

    def on_opencl(self, fields: Fields, line: Line) -> None:
        if "opencl_name" in fields:
            self.find(line, "OpenCL", None, fields["opencl_name"].strip("'"))

    # ---- choice

    def on_load_backend(self, fields: Fields, line: Line) -> None:
        if fields["backend"] not in ("CPU", "RPC", "BLAS"):
            self.loads.backend(fields["backend"])

    def on_using_device(self, fields: Fields, line: Line) -> None:
        name = _used_name(fields["used_name"])
        device = self.find(line, backend_of(fields["device"]), fields["device"], name)
        device.name = device.name or name
        device.free_mib = float(fields["free_mib"])
        target = self.loads.target
        used = [*target.facts.get("devices_used", []), fields["device"]]
        self.loads.fact("devices_used", list(dict.fromkeys(used)), line)

    def on_device_info(self, fields: Fields, line: Line) -> None:
        backend = backend_of(fields["device"])
        if backend is None:
            if fields["device"] == "CPU":
                self._run_fact("host_total_mib", float(fields["total_mib"]), line)
                self._run_fact("cpu_name", fields["listed_name"], line)
            return
        device = self.find(line, backend, fields["device"], fields["listed_name"])
        device.name = fields["listed_name"]
        device.total_mib = float(fields["total_mib"])
        if device.free_mib is None:
            device.free_mib = float(fields["free_mib"])

    # ---- helpers

    def _run_fact(self, name: str, value: object, line: Line) -> None:
        run = self.state.run
        run.facts[name] = value
        run.fact_lines[name] = line.number


def _used_name(text: str) -> str:
    """``(NAME)`` or ``(NAME) (BUS ID)`` without its brackets and bus id."""
    inner = text[1:-1]
    name, _, bus = inner.rpartition(") (")
    return name if name and (bus == "unknown id" or ":" in bus) else inner


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of grammar ``llama_device``."""
    return Devices(state).handlers()
