//go:build unix

package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

//go:embed install_debian.sh
var installPostgresScript string

// startAfterInstall installs Debian's package and runs the server that came with it.
func startAfterInstall(ctx context.Context, dir *scratch) (*server, error) {
	if err := asRoot(ctx, dir, installPostgresScript); err != nil {
		return nil, err
	}
	return startInstalled(ctx, dir)
}

// asRoot runs a script that installs packages: as root, or through a sudo that asks for no password. Where that
// is not possible, or the packages cannot be had, the way is absent.
func asRoot(ctx context.Context, dir *scratch, script string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return absent{"there is no apt-get"}
	}
	shell := []string{"/bin/sh", "-c", script}
	if os.Geteuid() != 0 {
		if exec.CommandContext(ctx, "sudo", "-n", "true").Run() != nil {
			return absent{"not root, and sudo is not there or asks for a password"}
		}
		shell = append([]string{"sudo", "-n"}, shell...)
	}
	fmt.Fprintln(dir.log, "testenv: installing packages with apt-get")
	if out, err := exec.CommandContext(ctx, shell[0], shell[1:]...).CombinedOutput(); err != nil {
		return absent{fmt.Sprintf("apt-get failed: %v\n%s", err, lastLines(string(out), 10))}
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
