//go:build unix

package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// installations are the places where packages and builds put the server's programs, beside PATH.
var installations = []string{
	"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
	"/usr/pgsql-*/bin",                  // Fedora, Red Hat
	"/usr/local/pgsql/bin",              // built from source
	"/opt/homebrew/opt/postgresql*/bin", // macOS on ARM
	"/usr/local/opt/postgresql*/bin",    // macOS on Intel
}

// findPostgres returns the folder of the server's programs, or "". What PATH names comes first, since a person
// chose it; then the newest version.
func findPostgres(patterns []string) string {
	for _, dir := range append(chosen(), newestFirst(patterns)...) {
		if executable(filepath.Join(dir, "initdb")) && executable(filepath.Join(dir, "postgres")) {
			return dir
		}
	}
	return ""
}

// chosen is where PATH and pg_config lead. Links are followed: distributions link single programs into PATH.
func chosen() []string {
	var dirs []string
	for _, program := range []string{"postgres", "initdb"} {
		if path, err := exec.LookPath(program); err == nil {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				dirs = append(dirs, filepath.Dir(real))
			}
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	return dirs
}

// newestFirst expands the patterns; within each, the highest version comes first.
func newestFirst(patterns []string) []string {
	var dirs []string
	for _, p := range patterns {
		found, _ := filepath.Glob(p) // the only error is a malformed pattern
		slices.SortFunc(found, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
		dirs = append(dirs, found...)
	}
	return dirs
}

// version reads the number in names such as /usr/lib/postgresql/15/bin and postgresql@17; 0 without one.
func version(dir string) float64 {
	name := filepath.Base(filepath.Dir(dir))
	n, _ := strconv.ParseFloat(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz@-"), 64)
	return n
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
