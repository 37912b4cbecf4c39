package task

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// envReference is ${NAME} or ${env:NAME} in a value of env, $${ for a literal ${, or a ${ that is
// neither.
var envReference = regex.New(`\$\$\{|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}|\$\{`)

var errEnvReference = errors.New("malformed reference: use ${NAME} for the value of a variable, or $${ for a literal ${")

// ExpandEnv returns a value of env with its references replaced. The log of a task has the
// references: their values are looked up whenever the server is started.
func ExpandEnv(value string, lookup func(name string) (string, bool)) (expanded string, err error) {
	expanded = envReference.ReplaceAllStringFunc(value, func(found string) string {
		name := envReference.FindStringSubmatch(found)[1]
		switch {
		case found == "$${":
			return "${"
		case name == "":
			err = errEnvReference
			return found
		}
		v, ok := lookup(name)
		if !ok && err == nil {
			err = fmt.Errorf("the environment variable %s is not set", name)
		}
		return v
	})
	return expanded, err
}

// Environ returns the variables of the server as NAME=value, sorted, with all references replaced.
func (s Server) Environ() (env []string, err error) { return s.EnvironFrom(os.LookupEnv) }

// EnvironFrom is Environ with the variables that lookup returns.
func (s Server) EnvironFrom(lookup func(name string) (string, bool)) (env []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		value, wrong := ExpandEnv(s.Env[name], lookup)
		if wrong != nil && err == nil {
			err = fmt.Errorf("env %s: %w", redact.Quote(name), wrong)
		}
		env = append(env, name+"="+value)
	}
	return env, err
}

// Uses returns the names of the variables of the environment that the server receives by reference,
// sorted.
func (s Server) Uses() (names []string) {
	for _, value := range s.Env {
		names = append(names, EnvReferences(value)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// EnvReferences returns the names of the variables that ExpandEnv replaces in a value.
func EnvReferences(value string) (names []string) {
	for _, found := range envReference.FindAllStringSubmatch(value, -1) {
		if found[1] != "" {
			names = append(names, found[1])
		}
	}
	return names
}

// secrets returns the values that no output may show: those in the environment, the commands and the
// URLs of the servers. References count with their values in this process.
func (p *Plan) secrets() redact.Secrets {
	var all []redact.Secrets
	for _, s := range p.Servers {
		env, _ := s.Environ() // what has no value is not a secret
		all = append(all, redact.EnvironSecrets(env), redact.CommandSecrets(s.Command), redact.AddressSecrets(s.URL))
	}
	return redact.JoinSecrets(all...)
}

// Hide returns foreign text without secrets: those of the plan, and what looks like one. Everything
// that shows a task uses it, Quote or Passage.
func (s *State) Hide(text string) string { return redact.Text(s.secrets.Redact(text)) }

// Quote returns a name or a line of foreign text without secrets, cleaned and shortened.
func (s *State) Quote(text string) string { return s.secrets.Quote(text) }

// Passage is Quote for a few sentences.
func (s *State) Passage(text string) string { return s.secrets.Passage(text) }

// StoppedShown returns why the task stopped, fit to be shown; nil if it did not.
func (s *State) StoppedShown() *Stopped { return s.stoppedBy(s.Passage) }

// StoppedHidden is StoppedShown for programs: whole, but without secrets.
func (s *State) StoppedHidden() *Stopped { return s.stoppedBy(s.Hide) }

func (s *State) stoppedBy(shown func(string) string) *Stopped {
	if s.Stopped == nil {
		return nil
	}
	stop := *s.Stopped
	stop.Message, stop.Diagnosis, stop.Remedy = shown(stop.Message), shown(stop.Diagnosis), shown(stop.Remedy)
	return &stop
}
