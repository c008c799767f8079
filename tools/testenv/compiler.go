//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// cProgram includes what the race detector's runtime needs: a compiler without the C library's headers is a
// usual half of an installation.
const cProgram = "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(void) { return 0; }\n"

// compiler returns the command of a C compiler that works, after installing one where that is possible.
func compiler(ctx context.Context, dir *scratch) (string, error) {
	if cc := workingCompiler(ctx, dir); cc != "" {
		return cc, nil
	}
	err := asRoot(ctx, dir, installPackages("gcc", "libc6-dev"))
	if cc := workingCompiler(ctx, dir); cc != "" {
		return cc, nil
	}
	return "", errors.Join(errors.New("-race needs a C compiler with the C library's headers, and there is none: "+
		"install one (Debian: apt-get install gcc libc6-dev), name it in CC, or run without -race"), err)
}

// workingCompiler returns the first compiler that makes a program, or "". What CC names is the only candidate.
func workingCompiler(ctx context.Context, dir *scratch) string {
	candidates := []string{"gcc", "cc", "clang"}
	if cc := os.Getenv("CC"); cc != "" {
		candidates = []string{cc}
	}
	for _, cc := range candidates {
		if compiles(ctx, dir, cc) == nil {
			return cc
		}
	}
	return ""
}

func compiles(ctx context.Context, dir *scratch, cc string) error {
	source := dir.path("probe.c")
	if err := os.WriteFile(source, []byte(cProgram), 0o600); err != nil {
		return err
	}
	// Through the shell, because CC may carry options.
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", cc+` -o "$1" "$2" -pthread`, "sh", dir.path("probe"), source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cc, err, out)
	}
	return nil
}
