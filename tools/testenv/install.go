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

var (
	//go:embed install_debian.sh
	installPostgresScript string
	//go:embed install_packages.sh
	installPackagesScript string
)

// startAfterInstall installs Debian's PostgreSQL and runs the server that came with it.
func startAfterInstall(ctx context.Context, dir *scratch) (*server, error) {
	return installed(startInstalled, installPostgresScript)(ctx, dir)
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

// installPackages is a script for asRoot. What is installed for tests starts no service of its own. Old lists of
// packages may still do; they are renewed where they do not.
func installPackages(packages ...string) string {
	return strings.Replace(installPackagesScript, "PACKAGES", strings.Join(packages, " "), 1)
}

// installed is a way's start after a script installed what it needs.
func installed(start func(context.Context, *scratch) (*server, error), script string) func(context.Context, *scratch) (*server, error) {
	return func(ctx context.Context, dir *scratch) (*server, error) {
		if err := asRoot(ctx, dir, script); err != nil {
			return nil, err
		}
		return start(ctx, dir)
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
