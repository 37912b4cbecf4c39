package taskcli

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestPlanOfFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string // the error, or nothing
	}{
		{[]string{"--goal", "Sum up all my notes", "--server", "cursor/notes", "--max-steps", "5"}, ""},
		{[]string{"--goal", "x"}, "--goal requires at least one --server"},
		{[]string{"--server", "cursor/notes"}, "pass a task FILE, or --goal"},
		{[]string{"--goal", "x", "--server", "a/b", "file.yaml"}, "--goal and --server cannot be combined with a file: put them in the file"},
		{[]string{"--goal", "x", "--server", "a/b", "--server", "c/b"}, `two servers are named "b": rename one of them, for example --server other=c/b`},
		{[]string{"--goal", "x", "--server", "a/b", "--max-steps", "-1"}, "invalid --max-steps -1: must be at least 1"},
	} {
		var f PlanFlags
		flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
		f.Add(flags)
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		plan, err := f.Plan(flags.Args())
		switch {
		case c.want != "":
			if err == nil || err.Error() != c.want {
				t.Errorf("%q: %v", c.args, err)
			}
		case err != nil:
			t.Errorf("%q: %v", c.args, err)
		case plan.Goal != "Sum up all my notes" || plan.Name != "Sum up all my" || plan.Budget.Steps != 5 || plan.Servers["notes"].Configured != "cursor/notes":
			t.Errorf("%q: %+v", c.args, plan)
		}
	}
}
