package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/inquest-dev/inquest/internal/store"
)

// WarnOfPassword tells whoever has given --store an address with a password that
// others have read it.
func WarnOfPassword(cmd *cobra.Command) {
	flag := cmd.Flags().Lookup("store")
	if flag != nil && flag.Changed && store.HasPassword(flag.Value.String()) {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: a password on the command line can be read by everybody on this host (ps): use INQUEST_STORE")
	}
}
