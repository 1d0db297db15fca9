"""Traffic of the HBM and estimated cycles, read from lines as libtpu prints them."""

from petals.ahead_of_time.hlo_cost import Cost, cost

# As libtpu 0.0.42.1 prints a training step, cut to what is read. S(1) is the chip's own memory.
FUSED = """\
%fused (p: f32[64]) -> f32[64] {
  %p = f32[64]{0:T(128)} parameter(0)
  ROOT %add.1 = f32[64]{0:T(128)} add(%p, %p)
}

"""


def of(*lines, before=FUSED):
    entry = "".join(f"  {line}\n" for line in lines)
    return cost(f"{before}ENTRY %main.16_spmd (a: f32[64]) -> f32[64] {{\n{entry}}}\n")


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
