import { Anchor, Stack, Text, Title } from '@mantine/core'
import { Link } from 'wouter'

export function NotFoundPage() {
  return (
    <Stack>
      <Title order={1} size="h2">
        There is nothing here
      </Title>
      <Text>
        The address is wrong, or what it names belongs to another organization.{' '}
        <Anchor component={Link} href="/" inherit underline="always">
          Go to the monitors
        </Anchor>
      </Text>
    </Stack>
  )
}
