package upstream

import (
	"bufio"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// The work of a child that has ended still counts: otherwise the sum would
// fall, and a busy server would look idle until it had caught up.
func TestTheWorkOfAChildThatEndedStillCounts(t *testing.T) {
	t.Parallel()
	p, err := start(launch.Spec{Command: "/bin/sh", Args: []string{"-c",
		`sh -c 'i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done'; echo done; read -r line`}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		p.kill()
		<-p.exited
		p.stdin.Close()
		p.stdout.Close()
		p.stderr.Close()
	}()
	if _, err := bufio.NewReader(p.stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	// Half a million turns of a shell's loop are a good deal more than this.
	if v := p.vitals(); !v.Known || v.CPU < 50*time.Millisecond {
		t.Errorf("the group used %v of CPU", v.CPU)
	}
}
