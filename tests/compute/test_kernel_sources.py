"""Sources of compiled kernels: their digest names the cache folder, so it covers every folder of the package."""

from hybridkg.compute import kernels


def test_the_digest_covers_the_kernels_of_every_folder():
    names = {path.relative_to(kernels.PACKAGE).as_posix() for path in kernels.sources(kernels.PACKAGE)}
    assert {"vector/index/codes_kernel.py", "vector/index/similarity_kernel.py"} <= names
    assert {path.relative_to(kernels.PACKAGE).as_posix() for path in kernels.PACKAGE.rglob("*_kernel.py")} <= names
