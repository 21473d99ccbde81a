import type { Queryable } from '../../shared/db.ts'
import { AppError } from '../../shared/errors.ts'
import { dependsOn, lockParents, replaceParents } from '../../shared/store/monitor-parents.ts'
import { findMonitorKeys } from '../../shared/store/monitors.ts'
import { validationFailed } from '../http/validate.ts'

/**
 * Makes a monitor depend on these and no others. Another organization's monitor is as unknown as one that never was.
 * @throws AppError validation_failed, cyclic_dependency
 */
export async function writeParents(
  tx: Queryable,
  organizationId: string,
  monitorKey: number,
  parentIds: readonly string[]
): Promise<void> {
  if (parentIds.length > 0) await lockParents(tx, organizationId)
  const known = new Map((await findMonitorKeys(tx, organizationId, parentIds)).map(({ id, key }) => [id, key]))
  const faults = parentIds.flatMap((id, index) =>
    known.has(id.toLowerCase())
      ? []
      : [{ pointer: `/parentIds/${index}`, code: 'monitor_not_allowed', detail: 'There is no such monitor.' }]
  )
  if (faults.length > 0) throw validationFailed(faults)
  const keys = [...known.values()]
  if (await dependsOn(tx, organizationId, keys, monitorKey)) {
    const detail = 'One of these depends on this monitor already, perhaps through others, or is this monitor itself.'
    throw new AppError('cyclic_dependency', {
      detail,
      errors: [{ pointer: '/parentIds', code: 'cyclic_dependency', detail }]
    })
  }
  await replaceParents(tx, organizationId, monitorKey, keys)
}
