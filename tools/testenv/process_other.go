//go:build unix && !linux

package main

import "syscall"

// endWithParent does nothing: only Linux can tie a child's life to its parent's.
func endWithParent(*syscall.SysProcAttr) {}
