package upstream

import (
	"errors"
	"time"
)

// LoginRequired means that a session cannot be restored because of the login.
type LoginRequired struct{ Loss Loss }

func (e *LoginRequired) Error() string { return e.Loss.Detail }

// loginRetry is the time between attempts to restore a session whose login cannot be renewed.
const loginRetry = 5 * time.Second

// loginPlan replaces the plan after a generation that ended because of the login.
func loginPlan(p plan, e Evidence, err error) plan {
	var required *LoginRequired
	if !errors.As(err, &required) && e.Refused != nil {
		required = &LoginRequired{*e.Refused}
	}
	switch {
	case required == nil || !required.Loss.OfLogin():
		return p
	case required.Loss.Login == nil: // the authorization server may be back soon
		return plan{wait: max(p.wait, loginRetry), code: required.Loss.Code, detail: required.Loss.Detail}
	}
	return plan{permanent: true, code: required.Loss.Code, detail: required.Loss.Detail, login: required.Loss.Login, cause: required.Loss.Cause()}
}
