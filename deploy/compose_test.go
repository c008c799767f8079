package deploy_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/cli"
)

// dockerfile is the file, an instruction each: word and rest.
func dockerfile(t *testing.T) [][2]string {
	t.Helper()
	b, err := os.ReadFile("Dockerfile")
	must(t, err)
	var all [][2]string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		all = append(all, [2]string{word, rest})
	}
	return all
}

// loads reads a configuration from variables, as the program does.
func loads(t *testing.T, file string, environ []string) app.Loaded {
	t.Helper()
	for _, pair := range environ { // what is referred to
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	l, err := app.Sources{File: file, Environ: environ}.Load()
	if err != nil {
		t.Errorf("%v: %v", environ, err)
	}
	return l
}

// The image is of what is there, holds the program and authorities alone, and runs without rights.
func TestDockerfile(t *testing.T) {
	last := map[string]string{}
	stages, copied := 0, map[string]string{}
	var environ []string
	for _, i := range dockerfile(t) {
		word, rest := i[0], i[1]
		switch word {
		case "FROM":
			stages++
			last, copied = map[string]string{}, map[string]string{}
			if image := strings.Fields(rest)[0]; strings.Contains(image, "/") || !plainImage(image) && image != "scratch" {
				t.Errorf("the image %s is not of the usual place, or has no version", image)
			}
		case "COPY":
			args := slices.DeleteFunc(strings.Fields(rest), func(a string) bool { return strings.HasPrefix(a, "--") })
			for _, from := range args[:len(args)-1] {
				if _, err := os.Stat(filepath.Join("..", from)); !strings.Contains(rest, "--from=") && err != nil {
					t.Errorf("COPY %s: %v", from, err)
				}
				copied[args[len(args)-1]] = from
			}
		case "ENV":
			environ = append(environ, strings.Fields(rest)...)
		case "RUN":
			if stages == 1 && strings.Contains(rest, "go build") && !strings.Contains(rest, "CGO_ENABLED=0") {
				t.Errorf("the program is not static: %s", rest)
			}
			last[word] = rest
		default:
			last[word] = rest
		}
	}
	if stages != 2 || last["USER"] != "65532:65532" || last["RUN"] != "" || len(copied) != 3 || copied["/usr/local/bin/einmal"] != "/out/einmal" ||
		last["ENTRYPOINT"] != `["/usr/local/bin/einmal"]` || !strings.HasSuffix(last["HEALTHCHECK"], `CMD ["/usr/local/bin/einmal", "health"]`) {
		t.Errorf("%d stages, %v, %v", stages, last, copied)
	}
	for _, command := range []string{"health", "serve"} {
		var out bytes.Buffer
		if code := cli.Run(context.Background(), []string{command, "--help"}, cli.Env{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}); code != 0 {
			t.Errorf("einmal %s: %s", command, &out)
		}
	}
	l := loads(t, "", environ)
	if !strings.HasPrefix(l.Data, last["WORKDIR"]+"/") || filepath.Base(l.Data) != "einmal-data" || !strings.Contains(last["VOLUME"], last["WORKDIR"]) {
		t.Errorf("commands do not find %s in %s", l.Data, last["WORKDIR"])
	}
	if _, port, _ := strings.Cut(l.Listen.HTTP, ":"); port != last["EXPOSE"] {
		t.Errorf("it listens on %s, and exposes %s", l.Listen.HTTP, last["EXPOSE"])
	}
}

// The build sees what it needs, and nothing that lies about.
func TestDockerignore(t *testing.T) {
	b, err := os.ReadFile("Dockerfile.dockerignore")
	must(t, err)
	lines := strings.Fields(string(b))
	if lines[0] != "*" {
		t.Errorf("not everything is left out first: %q", lines)
	}
	for _, i := range dockerfile(t) {
		if i[0] != "COPY" || strings.Contains(i[1], "--from=") {
			continue
		}
		args := strings.Fields(i[1])
		for _, from := range args[:len(args)-1] {
			if !slices.Contains(lines, "!"+from) {
				t.Errorf("%s is copied and left out", from)
			}
		}
	}
}

// plainImage is a name with a version, without a host.
func plainImage(image string) bool {
	return regexp.MustCompile(`^[a-z]+:[0-9][a-z0-9.]*$`).MatchString(image)
}

// compose is what the file may have.
type compose struct {
	Name    string             `yaml:"name"`
	Gateway any                `yaml:"x-gateway"`
	Vars    any                `yaml:"x-environment"`
	Volumes map[string]any     `yaml:"volumes"`
	Service map[string]service `yaml:"services"`
}

type service struct {
	Build *struct {
		Context    string `yaml:"context"`
		Dockerfile string `yaml:"dockerfile"`
	} `yaml:"build"`
	Image       string                       `yaml:"image"`
	Restart     string                       `yaml:"restart"`
	ReadOnly    bool                         `yaml:"read_only"`
	CapDrop     []string                     `yaml:"cap_drop"`
	SecurityOpt []string                     `yaml:"security_opt"`
	Grace       string                       `yaml:"stop_grace_period"`
	Memory      string                       `yaml:"mem_limit"`
	Environment map[string]string            `yaml:"environment"`
	Volumes     []string                     `yaml:"volumes"`
	Ports       []string                     `yaml:"ports"`
	DependsOn   map[string]map[string]string `yaml:"depends_on"`
	Healthcheck map[string]any               `yaml:"healthcheck"`
}

// Two gateways have the same store and the same keys, and a state of their own; nothing is reached from outside.
//
// covers: X7
func TestCompose(t *testing.T) {
	var c compose
	strictly(t, "compose.yaml", &c)
	image := map[string]string{}
	for _, i := range dockerfile(t) {
		if i[0] == "ENV" {
			for _, pair := range strings.Fields(i[1]) {
				name, value, _ := strings.Cut(pair, "=")
				image[name] = value
			}
		}
	}
	states := map[string]bool{}
	for name, s := range c.Service {
		for on, how := range s.DependsOn {
			if _, there := c.Service[on]; !there || how["condition"] != "service_healthy" {
				t.Errorf("%s depends on %s %v", name, on, how)
			}
		}
		for _, v := range s.Volumes {
			volume, _, _ := strings.Cut(v, ":")
			if _, there := c.Volumes[volume]; !there {
				t.Errorf("%s mounts %s, which is not declared", name, volume)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") || !strings.HasSuffix(p, ":8080") {
				t.Errorf("%s is reached at %s", name, p)
			}
		}
		if name == "postgres" {
			if !plainImage(s.Image) || s.Healthcheck == nil {
				t.Errorf("%+v", s)
			}
			continue
		}
		if s.Build == nil || s.Build.Context != ".." || s.Build.Dockerfile != "deploy/Dockerfile" || !s.ReadOnly || s.CapDrop[0] != "ALL" {
			t.Errorf("%s: %+v", name, s)
		}
		environ := maps.Clone(image)
		maps.Copy(environ, s.Environment)
		var pairs []string
		for k, v := range environ {
			pairs = append(pairs, k+"="+regexp.MustCompile(`\$\{POSTGRES_PASSWORD:\?[^}]*\}`).ReplaceAllString(v, "word"))
		}
		l := loads(t, "", pairs)
		if l.Store != "postgres://einmal:word@postgres:5432/einmal?sslmode=disable" || l.KeySource().String() != "/var/lib/einmal-keys/keys" || !strings.HasSuffix(s.Volumes[1], ":/var/lib/einmal-keys") {
			t.Errorf("%s: %+v", name, l.Config)
		}
		if states[s.Volumes[0]] || !strings.HasSuffix(s.Volumes[0], ":/var/lib/einmal") {
			t.Errorf("%s has its state in %s", name, s.Volumes[0])
		}
		states[s.Volumes[0]] = true
	}
	if len(states) != 2 {
		t.Errorf("there are %d gateways", len(states))
	}
}
