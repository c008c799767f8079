package app

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/einmal/einmal/internal/ground/settings"
)

// Flags are what the command line sets; empty: nothing. They go before everything else.
type Flags struct {
	Listen, Data, Mark, Store, Policy, Ledger string
	LogLevel, LogFormat                       string
	NoEcho                                    bool
}

// Sources are where a configuration comes from.
type Sources struct {
	File    string   // "": none
	Environ []string // NAME=value, as os.Environ has them
	Flags   Flags
}

// Loaded is a configuration, and where each of its values comes from.
type Loaded struct {
	Config
	Origins *settings.Origins
	shown   []settings.Shown
}

// Load reads the configuration without the environment, for programs that start a gateway of their own.
func Load(file string, f Flags) (Config, error) {
	l, err := Sources{File: file, Flags: f}.Load()
	return l.Config, err
}

// Load reads the configuration: the defaults, then the file, then the environment, then the flags.
func (s Sources) Load() (Loaded, error) {
	l := Loaded{Config: Default(), Origins: settings.NewOrigins()}
	for _, step := range []func(*Loaded) error{s.file, s.environment, s.flags} {
		if err := step(&l); err != nil {
			return l, err
		}
	}
	l.Config = l.withDefaults()
	l.shown = l.Origins.Show(l.members())
	stored, err := resolve(l.Store)
	if l.Store = stored; err != nil {
		err = fmt.Errorf("store: %w", err)
	} else if err = l.check(); err == nil {
		return l, nil
	}
	if from, known := l.Origins.Blame(err, l.members()); known && from.Kind != settings.FromFile {
		return l, fmt.Errorf("the configuration (%s): %w", from, err)
	}
	if s.File != "" {
		return l, fmt.Errorf("the configuration (file %s): %w", s.File, err)
	}
	return l, fmt.Errorf("the configuration: %w", err)
}

// Shown is what is in force, secrets masked.
func (l *Loaded) Shown() []settings.Shown { return l.shown }

func (l *Loaded) members() []*settings.Member { return settings.Members(&l.Config, variablePrefix) }

func (s Sources) file(l *Loaded) error {
	if s.File == "" {
		l.Config = l.withConnection()
		return nil
	}
	b, err := os.ReadFile(s.File)
	if err != nil {
		return fmt.Errorf("the configuration file %s cannot be read: %w", s.File, err)
	}
	if err := readYAML(b, &l.Config); err != nil {
		return fmt.Errorf("the configuration file %s:\n%s", s.File, mistake(err, knownNames()))
	}
	l.Config = l.withConnection()
	l.Origins.File(s.File, settings.LinesOf(b), l.members())
	return nil
}

func (s Sources) environment(l *Loaded) error {
	referred := referredTo(l.members())
	err := l.Origins.Environment(l.members(), variablePrefix, s.Environ, func(name, value string) bool {
		return slices.Contains(referred, name) || passedOver(name, value)
	})
	if err != nil {
		return fmt.Errorf("the environment:\n%w\n(einmal config --variables lists them all)", err)
	}
	return nil
}

func (s Sources) flags(l *Loaded) error {
	f, members := s.Flags, l.members()
	for _, flag := range []struct{ name, member, value string }{
		{"listen", "listen.http", f.Listen}, {"data", "data", f.Data}, {"mark", "mark", f.Mark}, {"store", "store", f.Store},
		{"policy", "policy", policyFlag(f.Policy)}, {"log-level", "log.level", f.LogLevel}, {"log-format", "log.format", f.LogFormat},
	} {
		if flag.value == "" {
			continue
		}
		i := slices.IndexFunc(members, func(m *settings.Member) bool { return m.Name() == flag.member })
		if err := members[i].Set(flag.value); err != nil {
			return fmt.Errorf("--%s: %w", flag.name, err)
		}
		l.Origins.Note(members[i], settings.Origin{Kind: settings.FromFlag, Name: flag.name})
	}
	return l.takeSimulatorFlags(f)
}

// readYAML reads a file into the defaults. One without content leaves them; the decoder would clear them.
func readYAML(b []byte, c *Config) error {
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && line != "---" {
			return yaml.UnmarshalWithOptions(b, c, yaml.Strict())
		}
	}
	return nil
}

// takeSimulatorFlags sets what belongs to the built-in simulator.
func (l *Loaded) takeSimulatorFlags(f Flags) error {
	if f.Ledger == "" && !f.NoEcho {
		return nil
	}
	for name, k := range l.Connections {
		if k.Kind != kindSimulator {
			continue
		}
		if f.Ledger != "" {
			k.Ledger = f.Ledger
		}
		if f.NoEcho {
			k.NoEcho, k.Lookup = true, Lookup{}
		}
		l.Connections[name] = k
		l.noteSimulatorFlags(name, f)
		return nil
	}
	return fmt.Errorf("--smsc-ledger and --smsc-no-echo belong to the built-in simulator, and the configuration names another connection")
}

func (l *Loaded) noteSimulatorFlags(connection string, f Flags) {
	for _, m := range l.members() {
		switch m.Name() {
		case "connections." + connection + ".ledger":
			if f.Ledger != "" {
				l.Origins.Note(m, settings.Origin{Kind: settings.FromFlag, Name: "smsc-ledger"})
			}
		case "connections." + connection + ".no_echo":
			if f.NoEcho {
				l.Origins.Note(m, settings.Origin{Kind: settings.FromFlag, Name: "smsc-no-echo"})
			}
		}
	}
}
