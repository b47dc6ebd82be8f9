"""Sources of compiled kernels: their digest names the cache folder, so it covers every folder of the package."""

from hybridkg.compute import kernel_cache


def test_the_digest_covers_the_kernels_of_every_folder():
    names = {path.relative_to(kernel_cache.PACKAGE).as_posix() for path in kernel_cache.sources(kernel_cache.PACKAGE)}
    assert {"vector/index/codes_kernel.py", "vector/index/similarity_kernel.py"} <= names
    assert {
        path.relative_to(kernel_cache.PACKAGE).as_posix() for path in kernel_cache.PACKAGE.rglob("*_kernel.py")
    } <= names
