package live

import "time"

// SetAskTimeout changes how long an answer is waited for.
func SetAskTimeout(d time.Duration) { askTimeout = d }
