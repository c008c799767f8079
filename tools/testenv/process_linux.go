package main

import "syscall"

// endWithParent asks the kernel for a fast shutdown of the server should this program be killed.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
