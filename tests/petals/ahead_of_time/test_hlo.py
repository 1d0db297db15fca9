"""Collectives and convolutions of a compiled program, read from lines that libtpu printed."""

from petals.ahead_of_time import hlo

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
TRAINABLE = [3 * 3 * 3 * 24, 256 * 104, 104]


def exchanged(trainable=TRAINABLE, batch=64):
    found = hlo.collectives(STEP, trainable, batch)
    return {(one.kind, one.cause): one for one in found}


def test_the_gradients_are_the_trainable_parameters_number_by_number():
    gradients = exchanged()["all-reduce", hlo.GRADIENTS]
    assert gradients.arrays == 3
    assert gradients.elements == sum(TRAINABLE)
    assert gradients.bytes == 2 * TRAINABLE[0] + 4 * (TRAINABLE[1] + TRAINABLE[2])


def test_a_gradient_that_is_not_summed_is_missing_from_the_figure():
    assert exchanged([*TRAINABLE, 4711])["all-reduce", hlo.GRADIENTS].elements == sum(TRAINABLE)


def test_statistics_of_both_passes_are_told_from_gradients_and_from_the_loss():
    found = exchanged()
    assert found["all-reduce", hlo.STATISTICS].elements == 24 + 48
    assert found["all-reduce", "loss and metrics"].bytes == 4


def test_a_gathered_batch_is_named_with_its_cause():
    found = exchanged()
    assert found["all-gather", "the batch, in augment/gather"].bytes == 64 * 96 * 96 * 3
    assert found["all-gather", "the batch, in mix/gather"].elements == 64 * 4  # of its result alone
    assert ("all-gather", "augment/gather") in exchanged(batch=128)


def test_the_most_bytes_come_first():
    sizes = [one.bytes for one in hlo.collectives(STEP, TRAINABLE, 64)]
    assert sizes == sorted(sizes, reverse=True)


def test_only_a_convolution_that_takes_float32_is_one_in_float32():
    assert hlo.float32_convolutions(STEP) == ["small_network/conv2d"]


def test_widths():
    assert [hlo.width(name) for name in ("f32", "bf16", "pred", "u8", "f8e4m3fn", "s4")] == [
        4,
        2,
        1,
        1,
        1,
        0.5,
    ]
