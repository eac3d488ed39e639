// Retention classes of organizations, as blocks use them: only those other than 0, kept by the control view's own changes.
import type { ControlView } from '#control/view.ts'

/** Gives the present classes by organization; the same object until one changes. */
export function retentionClasses(control: ControlView): () => Readonly<Record<string, number>> {
  let classes: Readonly<Record<string, number>> | undefined
  control.onOrganization(() => {
    classes = undefined
  })
  return () => {
    classes ??= Object.fromEntries(
      [...control.organizations()]
        .filter(({ retention }) => retention !== 0)
        .map(({ id, retention }) => [id.toLowerCase(), retention]),
    )
    return classes
  }
}
