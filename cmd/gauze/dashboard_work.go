package main

import (
	"sync"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/tasks/taskrun"
	"github.com/gauze-mcp/gauze/internal/views/dashboard"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// addWork lets a dashboard check servers and resume tasks as gauze doctor and gauze task resume do.
// finish records the last events; it is called after the dashboard is closed, at least once.
func addWork(o *dashboard.Options) (finish func()) {
	if o.Fleet == nil {
		o.Fleet = userFleet
	}
	f := &taskFlags{timeout: taskrun.CallTimeout}
	f.chooser, _ = f.model.open(&cobra.Command{}) // without the flag it never fails
	events := event.New()
	recorded := recordEvents(events, false)
	run, exported := f.options(events, recorded)
	o.Run = run
	return sync.OnceFunc(func() { exported(); recorded.finish() })
}

// userFleet returns the servers of this user's clients.
func userFleet() (*fleet.Fleet, error) {
	f, err := fleetHere()
	if err != nil {
		return nil, err
	}
	if err = setProgram(f, ""); err != nil {
		f.Gauze = "" // no server is wrapped in it
	}
	return f, nil
}
