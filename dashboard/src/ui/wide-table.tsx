import { Table } from '@mantine/core'
import type { ReactNode } from 'react'

/** A table that scrolls sideways where the page is narrower, by keyboard too. */
export function WideTable({ label, minWidth, children }: { label: string; minWidth: number; children: ReactNode }) {
  const viewportProps = { tabIndex: 0, role: 'region', 'aria-label': label }
  return (
    <Table.ScrollContainer minWidth={minWidth} scrollAreaProps={{ viewportProps }}>
      {children}
    </Table.ScrollContainer>
  )
}
