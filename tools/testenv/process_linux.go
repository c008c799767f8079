package main

import "syscall"

// endWithParent asks the kernel to interrupt the child should this program be killed: PostgreSQL shuts down fast.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
