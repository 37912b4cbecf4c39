package main

import (
	"fmt"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/gauze-mcp/gauze/internal/proxy"
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
func readPolicies(file string, flags []string) (map[string]proxy.Policy, error) {
	policies := map[string]proxy.Policy{}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the policy file: %w", err)
		}
		var content struct {
			Tools map[string]map[string]string `yaml:"tools"`
		}
		if err := yaml.UnmarshalWithOptions(text, &content, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("policy file %s: %s", file, yaml.FormatError(err, false, true))
		}
		for tool, settings := range content.Tools {
			var policy proxy.Policy
			for key, value := range settings {
				if err := policy.Set(key, value); err != nil {
					return nil, fmt.Errorf("policy file %s, tool %q: %w", file, tool, err)
				}
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
