//go:build !linux

package bench

import "syscall"

// endWithParent: other systems have no such thing.
func endWithParent(*syscall.SysProcAttr) {}
