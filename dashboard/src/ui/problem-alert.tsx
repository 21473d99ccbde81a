import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { Problem } from '../api.ts'

/** What the API said, in its own words. */
export function messageOf(error: unknown): string {
  return error instanceof Problem ? error.message : 'Something went wrong in this page.'
}

export function ProblemAlert({ error, again }: { error: unknown; again?: () => void }) {
  if (error === null || error === undefined) return null
  return (
    <Alert color="red" variant="light" role="alert" icon={<IconAlertTriangle aria-hidden />}>
      <Stack gap="xs">
        <Text size="sm">{messageOf(error)}</Text>
        {again === undefined ? null : (
          <Group>
            <Button size="xs" variant="default" onClick={again}>
              Try again
            </Button>
          </Group>
        )}
      </Stack>
    </Alert>
  )
}
