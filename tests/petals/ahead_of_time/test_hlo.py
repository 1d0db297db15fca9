"""What a compiled program exchanges, computes and moves, read from lines that libtpu printed."""

from petals.ahead_of_time import hlo
from petals.ahead_of_time.hlo import CompiledText, Cost

# As libtpu 0.0.42 and 0.0.50 print a training step, cut to what is read.
STEP = """\
%fused (p.1: f32[8,96,96,3], p.2: bf16[3,3,3,24]) -> bf16[8,24,24,24] {
  %p.1 = f32[8,96,96,3]{3,0,2,1:T(8,128)} parameter(0)
  %p.2 = bf16[3,3,3,24]{3,2,1,0:T(4,128)(2,1)} parameter(1)
  ROOT %convolution.1 = bf16[8,24,24,24]{3,0,2,1:T(8,128)(2,1)} convolution(%p.1, %p.2), window={size=3x3}, dim_labels=b01f_01io->b01f, metadata={op_name="jit(train_step)/jvp(small_network)/conv2d/conv_general_dilated" stack_frame_id=243}
}

%other (p.1: bf16[8,24,24,24], p.2: bf16[3,3,24,48]) -> bf16[8,12,12,48] {
  %p.1 = bf16[8,24,24,24]{3,0,2,1} parameter(0)
  %p.2 = bf16[3,3,24,48]{3,2,1,0} parameter(1)
  ROOT %convolution.2 = f32[8,12,12,48]{3,0,2,1} convolution(%p.1, %p.2), window={size=3x3}, dim_labels=b01f_01io->b01f, metadata={op_name="jit(train_step)/jvp(small_network)/conv2d_1/conv_general_dilated" stack_frame_id=243}
}

ENTRY %main (a: f32[8,256], b: f32[256,104]) -> f32[] {
  %a = f32[8,256]{1,0} parameter(0)
  %b = f32[256,104]{1,0} parameter(1)
  %convolution.42 = f32[8,104]{1,0:T(8,128)} convolution(%a, %b), dim_labels=bf_io->bf, metadata={op_name="jit(train_step)/jvp(head)/dot_general" stack_frame_id=284}
  %all-reduce.9 = (f32[]{:T(128)}, f32[256,104]{0,1:T(8,128)S(1)}, f32[104]{0:T(128)S(1)}) all-reduce(%f.1, %f.2, %f.3), channel_id=1, to_apply=%add, metadata={op_name="jit(train_step)/reduce_sum" stack_frame_id=63}
  %get-tuple-element.26 = f32[]{:T(128)} get-tuple-element(%all-reduce.9), index=0, metadata={op_name="jit(train_step)/reduce_sum" stack_frame_id=63}
  %get-tuple-element.27 = f32[256,104]{0,1} get-tuple-element(%all-reduce.9), index=1, metadata={op_name="jit(train_step)/transpose(jvp(head))/dot_general" stack_frame_id=284}
  %get-tuple-element.28 = f32[104]{0} get-tuple-element(%all-reduce.9), index=2, metadata={op_name="jit(train_step)/transpose(jvp(head))/reduce_sum" stack_frame_id=84}
  %all-reduce.10 = bf16[3,3,3,24]{3,2,1,0:T(4,128)(2,1)S(1)} all-reduce(%fusion.7), channel_id=3, to_apply=%add.clone, metadata={op_name="jit(train_step)/transpose(jvp(small_network))/conv2d/conv_general_dilated"}
  %all-reduce.11 = f32[24]{0} all-reduce(%fusion.8), channel_id=4, to_apply=%add.clone, metadata={op_name="jit(train_step)/jvp(small_network)/batch_normalization/_var/reduce_sum"}
  %all-reduce.12 = f32[48]{0} all-reduce(%fusion.9), channel_id=5, to_apply=%add.clone, metadata={op_name="jit(train_step)/transpose(jvp(small_network))/batch_normalization/reduce_sum"}
  %all-gather.1 = u8[64,96,96,3]{3,2,1,0} all-gather(%x), channel_id=6, dimensions={0}, metadata={op_name="jit(train_step)/jvp(small_network)/augment/gather"}
  %all-gather-start.1 = (u8[8,4]{1,0}, u8[64,4]{1,0}) all-gather-start(%x), channel_id=7, dimensions={0}, metadata={op_name="jit(train_step)/jvp(small_network)/mix/gather"}
  %all-gather-done.1 = u8[64,4]{1,0} all-gather-done(%all-gather-start.1)
}
"""  # noqa: E501


def test_what_devices_exchange_has_its_cause_the_most_bytes_first():
    exchanged = {
        (each["kind"], each["cause"]): each["bytes"] for each in CompiledText(STEP).collectives()
    }
    statistics = 4 * 48  # those of BatchNorm are too few to tell from the gradients
    gradients = 2 * 3 * 3 * 3 * 24 + 4 * (256 * 104 + 104) + statistics
    assert exchanged["all-reduce", hlo.GRADIENTS] == gradients
    assert exchanged["all-reduce", hlo.SUMS] == 4 + 4 * 24
    assert exchanged["all-gather", "augment/gather"] == 64 * 96 * 96 * 3
    assert exchanged["all-gather", "mix/gather"] == 64 * 4  # of its result alone
    assert list(exchanged.values()) == sorted(exchanged.values(), reverse=True)


def test_only_a_convolution_that_takes_float32_is_one_in_float32():
    assert CompiledText(STEP).float32_convolutions() == ["small_network/conv2d"]


def test_widths():
    widths = {"f32": 4, "bf16": 2, "pred": 1, "u8": 1, "f8e4m3fn": 1, "s4": 0.5}
    assert {name: hlo.width(name) for name in widths} == widths


# As libtpu 0.0.42.1 prints a training step, cut to what is read. S(1) is the chip's own memory.
FUSED = """\
%fused (p: f32[64]) -> f32[64] {
  %p = f32[64]{0:T(128)} parameter(0)
  ROOT %add.1 = f32[64]{0:T(128)} add(%p, %p)
}

"""


def of(*lines, before=FUSED):
    entry = "".join(f"  {line}\n" for line in lines)
    text = f"{before}ENTRY %main.16_spmd (a: f32[64]) -> f32[64] {{\n{entry}}}\n"
    return CompiledText(text).cost()


A = "%a = f32[64]{0:T(128)} parameter(0)"
FUSION = '%f.1 = f32[64]{0:T(128)} fusion(%a), kind=kLoop, calls=%fused, backend_config={"window_config":{"estimated_cycles":"1829","iteration_bounds":["1"]}}'  # noqa: E501


def test_an_operation_reads_its_operands_and_writes_its_result():
    assert of(A, FUSION) == Cost(2 * 256, 1829)


def test_what_lies_in_the_chips_own_memory_is_no_traffic():
    inside = "%g = bf16[8,8]{1,0:T(8,128)(2,1)S(1)} fusion(%a), kind=kLoop, calls=%fused"
    assert of(A, inside) == Cost(256, 0)
    both = "%g = (f32[64]{0:T(128)S(1)}, bf16[8,8]{1,0:T(8,128)(2,1)}) fusion(%a), calls=%fused"
    assert of(A, both) == Cost(256 + 128, 0)


def test_a_prefetch_reads_once_and_its_end_moves_nothing():
    types = "(f32[64]{0:T(128)S(1)}, f32[64]{0:T(128)}, u32[]{:S(2)})"
    start = f"%copy-start.1 = {types} copy-start(%a)"
    done = "%copy-done.1 = f32[64]{0:T(128)S(1)} copy-done(%copy-start.1)"
    assert of(A, start, done) == Cost(256, 0)


def test_a_slice_reads_what_it_gives():
    start = "%slice-start = ((f32[64]{0:T(128)}), f32[16]{0:T(128)S(1)}, s32[]{:S(2)}) slice-start(%a), slice={[0:16]}"  # noqa: E501
    assert of(A, start) == Cost(64, 0)
    rows = "%gather.1 = f32[4]{0:T(128)} gather(%a, %i), slice_sizes={1}"
    assert of(A, "%i = s32[4]{0:T(128)} parameter(1)", rows) == Cost(16 + 16 + 16, 0)


def test_a_loop_counts_as_often_as_it_runs():
    body = FUSED + f"%body (t: f32[64]) -> f32[64] {{\n  {A}\n  {FUSION}\n}}\n\n"
    loop = '%w = f32[64]{0} while(%a), condition=%c, body=%body, backend_config={"known_trip_count":{"n":"3"}}'  # noqa: E501
    assert of(A, loop, before=body) == Cost(3 * 2 * 256, 3 * 1829)


def test_what_only_names_an_array_moves_nothing():
    assert of(A, "%b = f32[8,8]{1,0} bitcast(%a)", "%t = (f32[64]{0}) tuple(%a)") == Cost(0, 0)
