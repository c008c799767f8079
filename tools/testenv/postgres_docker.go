//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	postgresImage = "postgres:17"
	dockerWithin  = 30 * time.Second // for removing a container
)

// startContainer runs the official image on a port of 127.0.0.1 that Docker chooses.
func startContainer(ctx context.Context, _ *scratch) (*server, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, absent{"there is no docker"}
	}
	if _, err := docker(ctx, nil, "version", "--format", "{{.Server.Version}}"); err != nil {
		return nil, absent{"no Docker daemon answers"}
	}
	password := rand.Text()
	id, err := docker(ctx, []string{"POSTGRES_PASSWORD=" + password}, containerArgs()...)
	if err != nil {
		return nil, err
	}
	address, err := containerAddress(ctx, id)
	if err != nil {
		return nil, errors.Join(err, removeContainer(id))
	}
	return &server{
		about: "container of " + postgresImage + " on " + address,
		value: postgresURL(password, address),
		stop:  func() error { return removeContainer(id) },
	}, nil
}

// containerArgs leaves the password to the environment, since arguments are visible to every user.
func containerArgs() []string {
	args := []string{"run", "--detach", "--label", "einmal-testenv", "--publish", "127.0.0.1::5432",
		"--env", "POSTGRES_PASSWORD", "--env", "POSTGRES_USER=" + postgresUser, "--env", "POSTGRES_DB=postgres", postgresImage}
	for _, s := range postgresSettings {
		args = append(args, "-c", s)
	}
	return args
}

// containerAddress waits until the server in the container answers.
func containerAddress(ctx context.Context, id string) (string, error) {
	address, err := docker(ctx, nil, "port", id, "5432/tcp")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	return address, awaitPostgres(ctx, address, nil)
}

// removeContainer works after a signal too: it has a time of its own.
func removeContainer(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dockerWithin)
	defer cancel()
	_, err := docker(ctx, nil, "rm", "--force", "--volumes", id)
	return err
}

// docker runs one docker command and returns what it printed, without the newline.
func docker(ctx context.Context, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Env = append(os.Environ(), env...)
	var errText strings.Builder
	cmd.Stderr = &errText
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, strings.TrimSpace(errText.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
