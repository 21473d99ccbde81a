import { Anchor, Box, Center, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { Logo } from './logo.tsx'

/** A page for who is not signed in: one card in the middle. */
export function SignedOutPage({ title, lead, children }: { title: string; lead?: string; children: ReactNode }) {
  useDocumentTitle(`${title} · Pulsegate`)
  return (
    <Center component="main" mih="100dvh" p="md">
      <Stack w="100%" maw={420} gap="lg">
        <Group justify="center">
          <Logo />
        </Group>
        <Paper withBorder shadow="sm" p={{ base: 'lg', xs: 'xl' }}>
          <Stack gap="md">
            <Box>
              <Title order={1} size="h3">
                {title}
              </Title>
              {lead === undefined ? null : (
                <Text c="dimmed" size="sm" mt={4}>
                  {lead}
                </Text>
              )}
            </Box>
            {children}
          </Stack>
        </Paper>
        <Text ta="center" size="xs" c="dimmed">
          <Anchor href="/docs" inherit>
            API and documents
          </Anchor>
        </Text>
      </Stack>
    </Center>
  )
}
