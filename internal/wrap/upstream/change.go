package upstream

import "github.com/gauze-mcp/gauze/internal/wrap/launch"

// Change makes the next start one of another command. The current process is left to the user of the upstream. It is only
// for servers that are commands, before and after.
func (u *Upstream) Change(spec launch.Spec) {
	u.asked.spec.Store(&spec)
	u.TryNow()
}

// Outdated reports whether the process is still that of the command before Change.
func (u *Upstream) Outdated() bool { return u.asked.spec.Load() != nil }

// adoptNext uses the command of the last Change, if there was one. What the doctor knew of the other does not count.
func (u *Upstream) adoptNext() bool {
	next := u.asked.spec.Swap(nil)
	if next == nil {
		return false
	}
	u.adopting.Lock()
	defer u.adopting.Unlock()
	u.Spec, u.changes, u.treated = *next, nil, nil
	return true
}
