// Command measures prints figures of Go code by which the structure of projects can be compared: make measures.
//
//	measures [-list MEASURE] [-skip REGEXP] [FOLDER…]
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"text/tabwriter"
)

func main() {
	list := flag.String("list", "", "print the places that a `measure` counts, by the first word of its row")
	skip := flag.String("skip", "", "leave out folders whose path matches, such as those of tools")
	flag.Parse()
	if err := run(flag.Args(), *skip, *list); err != nil {
		fmt.Fprintln(os.Stderr, "measures:", err)
		os.Exit(1)
	}
}

func run(folders []string, skip, list string) error {
	if len(folders) == 0 {
		folders = []string{"."}
	}
	left, err := regexp.Compile(skip)
	if err != nil {
		return err
	}
	all := make([]figures, len(folders))
	for i, folder := range folders {
		if all[i], err = measure(folder, func(path string) bool { return skip != "" && left.MatchString(path) }); err != nil {
			return fmt.Errorf("cannot measure %s: %w", folder, err)
		}
	}
	if list != "" {
		for _, f := range all {
			for _, place := range f.places[list] {
				fmt.Println(place)
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "measure")
	for _, folder := range folders {
		fmt.Fprint(w, "\t", folder)
	}
	fmt.Fprintln(w)
	for i, row := range all[0].rows() {
		fmt.Fprint(w, row.name)
		for _, f := range all {
			fmt.Fprint(w, "\t", f.rows()[i].value)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
