"""tools/compare_sass.py: what counts as the same machine code, without a GPU or a toolkit."""

import sys

from folders import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from compare_sass import compare, parse

LISTING = """
		Function : {name}
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;            /* 0x00000a00ff017b82 */
                                                                     /* 0x000fe20000000800 */
        /*0010*/                   {second} ;                        /* 0x{encoding} */
"""


def kernel(name, second="EXIT", encoding="000000000000794d"):
    return parse(LISTING.format(name=name, second=second, encoding=encoding))


def test_code_is_what_the_listing_says_without_addresses_and_encodings():
    assert kernel("rows") == {"rows": "LDC R1, c[0x0][0x28]\nEXIT"}
    assert kernel("rows") == kernel("rows", encoding="000000000000795d")


def test_a_changed_instruction_shows():
    assert compare(kernel("rows"), kernel("rows", "BRA 0x10"))["changed"] == ["rows"]


def test_a_new_name_for_old_code_is_no_change():
    said = compare(kernel("rows"), kernel("lines"))
    assert said == {"same": [], "changed": [], "renamed": ["lines"], "new": [], "gone": []}


def test_kernels_that_come_and_go_are_named():
    said = compare(kernel("rows") | kernel("tiles", "NOP"), kernel("rows") | kernel("columns", "BAR.SYNC"))
    assert (said["same"], said["new"], said["gone"]) == (["rows"], ["columns"], ["tiles"])


def test_one_old_kernel_excuses_one_new_name_alone():
    said = compare(kernel("rows"), kernel("lines") | kernel("others"))
    assert len(said["renamed"]) == 1 and len(said["new"]) == 1


def test_an_anonymous_namespace_is_known_by_its_kernel():
    name = "_ZN12torch_reduce4cuda50_GLOBAL__N__{}_6_any_cu_{}10any_kernelEv"
    before, after = name.format("0d6f3c1a", "aaaa1111"), name.format("99887766", "bbbb2222")
    assert compare(kernel(before), kernel(after))["same"] != []
