package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/mend/modelconfig"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/llm"
)

// adviserFlag is --model of commands that work as well without a model.
type adviserFlag struct{ name string }

func (f *adviserFlag) add(cmd *cobra.Command, use string) {
	cmd.Flags().StringVar(&f.name, "model", "", modelUsage("a model that "+use))
}

// modelUsage returns the usage of --model. of says which model it is.
func modelUsage(of string) string {
	return "`PROVIDER:NAME` of " + of + " (default: $GAUZE_MODEL, or model.yaml)"
}

// open returns the configured model, or nil if there is none. An invalid configuration is an error
// only if the flag is set: the command does not depend on a model.
func (f *adviserFlag) open(cmd *cobra.Command) (llm.Model, error) {
	c, ok, err := modelconfig.Load(f.name)
	switch {
	case err == nil && ok && c.Sampling() && f.name != "":
		return nil, fmt.Errorf("invalid --model %s: %s runs without an MCP client, so it cannot ask a client's model", f.name, cmd.CommandPath())
	case err == nil && (!ok || c.Sampling()):
		return nil, nil
	}
	var model llm.Model
	if err == nil {
		model, err = c.Open()
	}
	if err != nil && f.name == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze: continuing without a model: %s\n", redact.Passage(err.Error()))
		return nil, nil
	}
	return model, err
}

const ranksCauses = "ranks possible causes of a failure that no rule explains"
