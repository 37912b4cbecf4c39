package task

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/document"
)

// checkNames returns why nothing may be sent: a step calls a tool that its server does not list. All
// servers are looked at before the first call, so that a misspelt name has no effect. A server that
// cannot be asked then is looked at before its first call.
func (r *Runner) checkNames(ctx context.Context, next Intent) *Stopped {
	steps := r.state.Plan.Steps[min(r.state.indexOf(next.Step), len(r.state.Plan.Steps)):]
	var found []string
	for _, server := range r.state.unseen(steps, next.Server) {
		tools, lost := r.Servers.Tools(ctx, server)
		if ctx.Err() != nil {
			return r.waitedInVain(ctx, server, Situation{})
		}
		if lost != nil {
			continue
		}
		if text := unlisted(steps, server, tools); text != "" {
			found = append(found, text)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &Stopped{Why: StepFailed, Message: strings.Join(found, " "),
		Remedy: "If an earlier step makes a tool available, set unlisted: true in the step that calls it."}
}

// unseen returns the servers whose names are to be checked before a call of one of them: all of them
// before the first call, and later that one if it was not seen yet.
func (s *State) unseen(steps []Step, server string) (servers []string) {
	switch {
	case s.Tools[server] != nil:
		return nil
	case len(s.Tools) > 0:
		return []string{server}
	}
	for _, step := range steps {
		if step.Tool != "" && !slices.Contains(servers, step.Server) {
			servers = append(servers, step.Server)
		}
	}
	return servers
}

// unlisted says which steps call tools that a server does not list, or nothing. A server that lists
// none may not be able to.
func unlisted(steps []Step, server string, tools []Tool) string {
	if len(tools) == 0 {
		return ""
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	var found []string
	for _, step := range steps {
		checked := step.Server == server && step.Tool != "" && !step.Unlisted
		if !checked || slices.Contains(names, step.Tool) {
			continue
		}
		hint := document.DidYouMean(step.Tool, names)
		if hint == "" {
			hint = ". It lists " + listed(names) + "."
		}
		found = append(found, fmt.Sprintf("The server %q does not list the tool %q, which step %q calls%s", server, step.Tool, step.ID, hint))
	}
	return strings.Join(found[:min(len(found), maxListed)], " ")
}
