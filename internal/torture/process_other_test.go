//go:build !linux

package torture_test

import "syscall"

// endWithParent does nothing: here a child cannot be bound to its parent.
func endWithParent(*syscall.SysProcAttr) {}
