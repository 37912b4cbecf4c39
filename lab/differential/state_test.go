package differential

import (
	"os"
	"slices"
	"testing"
)

func TestWrappedServersDoNotUseTheUsersState(t *testing.T) {
	want := "GAUZE_STATE_DIR=" + os.Getenv("GAUZE_STATE_DIR")
	server := command{argv: []string{"server"}}
	if !slices.Contains(server.wrapped().environment(), want) {
		t.Errorf("gauze is started without %s", want)
	}
	if slices.Contains(server.environment(), want) {
		t.Errorf("the server is started with %s", want)
	}
}
