package upstream

import (
	"os"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/census"
)

func TestMain(m *testing.M) { os.Exit(census.Run(m)) }
