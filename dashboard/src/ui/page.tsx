import { Group, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'

/** Heading and actions of a page, and its title in the browser. */
export function Page({
  back,
  title,
  lead,
  actions,
  wide = false,
  children
}: {
  /** The way up, above the heading. */
  back?: ReactNode
  title: ReactNode
  lead?: ReactNode
  actions?: ReactNode
  /** Lists and plots use all the room there is; lines of text and forms would be torn apart. */
  wide?: boolean
  children: ReactNode
}) {
  useDocumentTitle(typeof title === 'string' ? `${title} · Pulsegate` : 'Pulsegate')
  return (
    <Stack gap="lg" w="100%" maw={wide ? 1720 : 1120}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <div style={{ flex: '1 1 180px', minWidth: 0, maxWidth: '100%' }}>
          {back}
          <Title order={1} size="h2">
            {title}
          </Title>
          {lead === undefined ? null : (
            <Text component="div" c="dimmed" size="sm">
              {lead}
            </Text>
          )}
        </div>
        {actions === undefined ? null : <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}
