// Command helm renders a chart with Helm's own library, as `helm template` does, and prints the objects as YAML documents. The values
// must satisfy the chart's values.schema.json, and a template that reads a value that does not exist is an error.
//
//	helm CHART [VALUES-FILE...]
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: helm CHART [VALUES-FILE...]")
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func run(dir string, files []string) error {
	chart, err := loader.LoadDir(dir)
	if err != nil {
		return fmt.Errorf("load chart: %w", err)
	}
	if err := chart.Validate(); err != nil {
		return fmt.Errorf("validate chart: %w", err)
	}
	values := map[string]any{}
	for _, file := range files {
		more, err := common.ReadValuesFile(file)
		if err != nil {
			return fmt.Errorf("read values: %w", err)
		}
		values = loader.MergeMaps(values, more)
	}
	release := common.ReleaseOptions{Name: "inquest", Namespace: "inquest", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities)
	if err != nil {
		return err
	}
	rendered, err := engine.Engine{Strict: true}.RenderWithContext(context.Background(), chart, all)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if path.Ext(name) == ".yaml" && strings.TrimSpace(rendered[name]) != "" {
			fmt.Printf("---\n# Source: %s\n%s\n", name, rendered[name])
		}
	}
	return nil
}
