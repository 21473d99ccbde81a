import { Group, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'

/** Heading and actions of a page, and its title in the browser. */
export function Page({
  title,
  lead,
  actions,
  children
}: {
  title: ReactNode
  lead?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  useDocumentTitle(typeof title === 'string' ? `${title} · Pulsegate` : 'Pulsegate')
  return (
    <Stack gap="lg" w="100%" maw={1200} mx="auto">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div style={{ minWidth: 0, maxWidth: '100%' }}>
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
