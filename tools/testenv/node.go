//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// nodeSMPPVersion is the version that the lock file names.
const nodeSMPPVersion = "0.5.1"

// The package is pinned with all that it needs, by content: npm ci installs what the lock file says or fails.
var (
	//go:embed nodesmpp/package.json
	nodePackage []byte
	//go:embed nodesmpp/package-lock.json
	nodeLock []byte
)

// nodeSMPP finds the npm package smpp in the user's cache, or puts it there.
func nodeSMPP(ctx context.Context, dir *scratch) (*server, error) {
	for _, p := range []string{"node", "npm"} {
		if _, err := firstProgram(p); err != nil {
			return nil, err
		}
	}
	folder := filepath.Join(cacheFolder(dir), fmt.Sprintf("node-smpp-%.6x", sha256.Sum256(nodeLock)))
	modules := filepath.Join(folder, "node_modules")
	if _, err := os.Stat(filepath.Join(modules, "smpp", "package.json")); err == nil {
		return &server{about: modules, value: modules}, nil
	}
	if err := npmInto(ctx, dir, folder); err != nil {
		return nil, err
	}
	return &server{about: modules + ", new from npm", value: modules}, nil
}

// cacheFolder is where packages are kept between runs; the run's own folder where the user has no other.
func cacheFolder(dir *scratch) string {
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "einmal-testenv")
	}
	return dir.dir
}

// npmInto installs into a folder beside the final one and gives it the final name at the end, so that a run that is
// interrupted leaves no half of a package. Another run that was faster has installed the same.
func npmInto(ctx context.Context, dir *scratch, folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "npm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	err = errors.Join(os.WriteFile(filepath.Join(fresh, "package.json"), nodePackage, 0o644),
		os.WriteFile(filepath.Join(fresh, "package-lock.json"), nodeLock, 0o644))
	if err != nil {
		return err
	}
	fmt.Fprintln(dir.log, "testenv: installing smpp", nodeSMPPVersion, "with npm into", filepath.Dir(folder))
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = fresh
	if out, err := cmd.CombinedOutput(); err != nil {
		return absent{fmt.Sprintf("npm failed: %v\n%s", err, lastLines(string(out), 10))}
	}
	if err := os.Rename(fresh, folder); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}
