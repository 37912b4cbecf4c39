package health

import (
	"time"

	"github.com/gauze-mcp/gauze/fault"
)

// Outage is why a server is unavailable, since when, and what happens next.
type Outage struct {
	Code      fault.Code  // what a call that waits for the server is answered with
	Detail    string      // one plain line about this case
	Cause     fault.Cause // why the server failed, if known
	Since     time.Time   // when the server was lost
	Attempts  int         // starts since then, the first of them the connection that was lost
	NextTry   time.Time   // when the server is started next; zero: gauze does not try again by itself
	Permanent bool        // only a change can end it
	Certain   bool        // Permanent is known, and not only concluded from repetition
}
