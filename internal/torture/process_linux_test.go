package torture_test

import "syscall"

// endWithParent asks the kernel to kill the child should the tests themselves be killed.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
