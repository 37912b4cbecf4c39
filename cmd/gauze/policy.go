package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// readPolicies reads the policies of tools from a file and from flags, which take precedence. An
// example of the file:
//
//	tools:
//	  render:
//	    timeout: 20m
//	    replay: never
//	    max-in-flight: 2
//	    repair: strict
//	    correct:
//	      enabled: false
//	  "*":
//	    correct: { model: "openai:small", timeout: 5s }
func readPolicies(file string, flags []string) (map[string]proxy.Policy, error) {
	policies := map[string]proxy.Policy{}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the policy file: %w", err)
		}
		var content struct {
			Tools map[string]map[string]any `yaml:"tools"`
		}
		loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithKnownFields())
		if err == nil {
			err = loader.Load(&content)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			var at *yaml.LoadError
			if !errors.As(err, &at) {
				return nil, fmt.Errorf("policy file %s: %w", file, err)
			}
			message, _, _ := strings.Cut(at.Message, " in type ")
			if key, isUnknown := strings.CutSuffix(message, " not found"); isUnknown {
				message = fmt.Sprintf("unknown key %q: must be tools", strings.TrimPrefix(key, "field "))
			}
			return nil, fmt.Errorf("policy file %s, line %d, column %d: %s", file, at.Mark.Line, at.Mark.Column, message)
		}
		for tool, settings := range content.Tools {
			var policy proxy.Policy
			if err := setPolicy(&policy, tool, "", settings); err != nil {
				return nil, fmt.Errorf("policy file %s, tool %q: %w", file, tool, err)
			}
			policies[tool] = policy
		}
	}
	for _, text := range flags {
		tool, policy, err := proxy.ParsePolicy(text)
		if err != nil {
			return nil, err
		}
		policies[tool] = policy
	}
	return policies, nil
}

// setPolicy sets what the policy file says about a tool. The keys of an inner mapping follow its own
// key and a dot, as in correct.enabled.
func setPolicy(policy *proxy.Policy, tool, prefix string, settings map[string]any) error {
	for key, value := range settings {
		key = prefix + key
		var err error
		switch v := value.(type) {
		case map[string]any:
			if prefix != "" {
				return fmt.Errorf("invalid %s: must be a single value", key)
			}
			err = setPolicy(policy, tool, key+".", v)
		case []any:
			words := make([]string, len(v))
			for i := range v {
				words[i] = fmt.Sprint(v[i])
			}
			err = policy.SetFor(tool, key, strings.Join(words, ","))
		default:
			err = policy.SetFor(tool, key, fmt.Sprint(v))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
